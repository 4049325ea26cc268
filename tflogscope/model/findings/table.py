"""All findings of a run as a table, the most time at stake first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from tflogscope.events.events import WARNS_EAGER
from tflogscope.events.scan import SourceSpan
from tflogscope.grammar.tables import schema
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.facts import Entry
from tflogscope.model.common.figures import span_of_run, start_up_of, whole_of
from tflogscope.model.common.frames import is_among, last_before
from tflogscope.model.common.frames import rows as rows_of
from tflogscope.model.common.once import once
from tflogscope.model.common.recorded import is_busy
from tflogscope.model.common.sentences import Row, rows
from tflogscope.model.executions.executions import with_places
from tflogscope.model.findings.between import between_findings
from tflogscope.model.findings.broadcasts import broadcast_findings
from tflogscope.model.findings.buffers import buffer_findings
from tflogscope.model.findings.checkpoints import checkpoint_findings
from tflogscope.model.findings.convolutions import convolution_findings
from tflogscope.model.findings.data_waits import input_findings
from tflogscope.model.findings.eager import eager_findings
from tflogscope.model.findings.finding import AVOIDABLE, Finding, line_that_sets, most
from tflogscope.model.findings.graphs import graph_findings
from tflogscope.model.findings.invariant import invariant_findings
from tflogscope.model.findings.lookups import lookup_findings
from tflogscope.model.findings.memory import memory_findings
from tflogscope.model.findings.onednn import onednn_findings
from tflogscope.model.findings.pipelines import pipeline_findings
from tflogscope.model.findings.python_code import python_findings
from tflogscope.model.findings.recording import ending_findings, recording_findings
from tflogscope.model.findings.serving import serving_findings
from tflogscope.model.findings.tracing import tracing_findings
from tflogscope.model.findings.unneeded import unneeded_findings
from tflogscope.model.findings.unrolled import unrolled_findings
from tflogscope.model.findings.verbose import verbose_findings
from tflogscope.model.findings.warnings import warning_findings
from tflogscope.model.ledger.owners import (
    Owners,
    assign_owners,
    count_once,
    owner_order,
    owners_once,
    waiting_owners,
)
from tflogscope.model.ledger.services import serving_threads
from tflogscope.model.ledger.stretches import read_stretches
from tflogscope.model.ledger.tables import asking_ledger, ledger_table, repeated_table, time_table
from tflogscope.model.pipeline import Evidence

WORTH_A_LOOK = threshold("warning.share")
LEAST_WARNED_US = threshold("warning.least")
_UNSURE = threshold("warning.unsure_share")
_WORTH = threshold("loop.worth")
RULES: tuple[Callable[[Evidence], Iterator[Finding]], ...] = (
    recording_findings,
    eager_findings,
    tracing_findings,
    pipeline_findings,
    between_findings,
    serving_findings,
    input_findings,
    checkpoint_findings,
    python_findings,
    graph_findings,
    onednn_findings,
    convolution_findings,
    lookup_findings,
    unneeded_findings,
    invariant_findings,
    broadcast_findings,
    buffer_findings,
    memory_findings,
    unrolled_findings,
    verbose_findings,
    warning_findings,
)
"""What finds something in a run; `owned` says whose the time is."""
_LINES = 8  # of the evidence
_LEAST_US = 1.0  # less is not worth a sentence, and is "0 µs" on screens


def findings_table(evidence: Evidence) -> pl.DataFrame:
    """The `findings` table: one row per finding.

    Errors come first, then the most time at stake; what has none comes last. `line` is the first
    line of the evidence, `lines` the first eight of that source, `python` the line of the program
    that asked for most of it.
    """
    return _table(owned(evidence)[0], evidence)


def endings_table(evidence: Evidence) -> pl.DataFrame:
    """Those of the `findings` that say how programs ended: `crashed`, `exit-status`."""
    return _table([*ending_findings(evidence)], evidence)


def _table(findings: list[Finding], evidence: Evidence) -> pl.DataFrame:
    spans = evidence.executions.spans
    table = [
        {
            **_worded(finding, evidence),
            **_lines(finding, spans),
            "python": finding.python or python,
        }
        for finding, python in zip(findings, _asked(findings, evidence), strict=True)
    ]
    return pl.DataFrame(table, schema("findings"))


def lead_of(evidence: Evidence) -> Entry | None:
    """What a verdict says of the first finding that is an error, else a warning.

    Without any it is the first that would be one on an idle machine (`unsure`), else the first note
    that `leads`: a setting of the program's that may cost time, which the log can't say. `message`
    is what an error said, `edit` the line of the program to change, where that is not the one at
    which it shows.
    """
    unsure, notes = list[Entry](), list[Entry]()
    for finding in owned(evidence)[0]:
        row, facts = rows("finding")[finding.id], _facts(finding)
        edit = facts.get("edit") or line_that_sets(row.set_by, evidence)
        words, message = row.leads(**facts)
        lead = Entry(id=row.id, words=words, message=message, edit=edit)
        if _severity(finding, row, evidence) != "note":
            return next(iter(unsure), lead)  # which may take more
        if _is_unsure(finding, evidence) and _is_much(finding, evidence, _UNSURE):
            unsure.append(Entry(id=row.id, words=words, message=message, edit=edit, unsure=True))
        notes += [lead] * bool(facts.get("leads"))
    return next(iter([*unsure, *notes]), None)


@once
def owned(evidence: Evidence) -> tuple[list[Finding], Owners]:
    """The findings in their order, and which stretch of the ledger each of them owns.

    A finding that claims time, all of which others own, is dropped: its fix saves nothing more.
    """
    kinds, asked_in = list(rows("finding")), owner_order()
    findings = [finding for find in RULES for finding in find(evidence)]
    if evidence.recorded.simulated:  # its clock is a model: no fix saves that time
        findings = [finding._replace(time_us=None, claims=()) for finding in findings]
    claiming = sorted(
        (number for number, finding in enumerate(findings) if finding.claims),
        key=lambda number: asked_in.index(findings[number].id),
    )
    stretches = read_stretches(evidence)
    owners = assign_owners(stretches, [findings[number].claims for number in claiming])
    ids = owners_once() if serving_threads(evidence) else asked_in
    counted = [n for n, number in enumerate(claiming) if findings[number].id in ids]
    owners = count_once(stretches, owners, counted)
    has_owner, repeats = owners.owner >= 0, stretches["repeats"].to_numpy()
    sums, in_loops = (
        np.bincount(owners.owner[chosen], owners.avoidable_us[chosen], len(claiming)).tolist()
        for chosen in (has_owner, has_owner & repeats)
    )
    kept = {number for number, finding in enumerate(findings) if not _claims_time(finding)}
    for number, *times in zip(claiming, sums, in_loops, strict=True):
        if times[0] >= _LEAST_US:
            findings[number] = findings[number]._replace(time_us=times[0], repeats_us=times[1])
            kept.add(number)
    order = sorted(
        kept,
        key=lambda number: (
            rows("finding")[findings[number].id].severity != "error",
            -round(findings[number].time_us or -1.0, 3),
            kinds.index(findings[number].id),
        ),
    )
    places = np.full(len(findings) + 1, -1)
    places[order] = np.arange(len(order))
    owner = places[np.append(np.array(claiming, np.int64), -1)[owners.owner]]
    avoidable = np.where(owner >= 0, owners.avoidable_us, 0.0)
    return [findings[number] for number in order], Owners(owner, avoidable)


def _claims_time(finding: Finding) -> bool:
    """Whether it claims any time: what claims none may be worth a note all the same."""
    return any(layer["us"].null_count() or layer["us"].sum() > 0 for layer in finding.claims)


def _lines(finding: Finding, spans: Sequence[SourceSpan]) -> dict[str, Any]:
    """Where the evidence is."""
    at = pl.Series("at", sorted(finding.at[:_LINES]), pl.Int64)
    placed = with_places(spans, at.to_frame())
    source = next(iter(placed["source"]), None)
    lines = placed["line"].filter(placed["source"] == source).to_list() if source else []
    joined = ";".join(map(str, lines)) or None
    return {"source": source, "line": next(iter(lines), None), "lines": joined}


def _asked(findings: list[Finding], evidence: Evidence) -> Iterator[str | None]:
    """The line of the program that asked for most of the evidence of each finding."""
    if evidence.lines.stacks.is_empty():
        yield from [None] * len(findings)
        return
    at = pl.Series("at", [at for finding in findings for at in finding.at], pl.Int64)
    lines = iter(evidence.lines.begun_at(at))
    for finding in findings:
        counts = Counter(islice(lines, len(finding.at)))
        asked = next((line for line, _ in counts.most_common() if line), None)
        yield asked or _python_around(finding, evidence)


def _python_around(finding: Finding, evidence: Evidence) -> str | None:
    """The line of the node whose Python code the evidence ran in.

    TensorFlow itself makes tensors of the NumPy arrays that a `py_function` gives back.
    """
    inside = evidence.placed.filter("inside", is_among(evidence.placed["at"], finding.at))
    nodes = evidence.executions.python_code
    around = last_before(inside[["at", "thread"]], nodes[["at", "thread"]])
    return next(iter(most(evidence.lines.begun_at(rows_of(nodes["at"], around)))), None)


def _worded(finding: Finding, evidence: Evidence) -> dict[str, Any]:
    row, time, facts = rows("finding")[finding.id], finding.time_us, _facts(finding)
    return {
        "id": finding.id,
        "severity": _severity(finding, row, evidence),
        "subject": finding.subject,
        "count": finding.amount,
        "time_us": None if time is None else round(time, 3),
        "text": row.words(**facts),
        "advice": row.advised(
            **facts,
            set_at=line_that_sets(row.set_by, evidence),
            set_eagerly=evidence.events.messages(WARNS_EAGER).height,
        ),
    }


def _facts(finding: Finding) -> dict[str, Any]:
    of_all = {"subject": finding.subject, "count": finding.amount, "time": finding.time_us}
    facts = {**of_all, **finding.facts}
    return {name: finding.time_us if fact is AVOIDABLE else fact for name, fact in facts.items()}


def _severity(finding: Finding, row: Row, evidence: Evidence) -> str:
    if row.severity:
        return row.severity
    unreliable = row.at_most or is_busy(evidence.recorded)
    share = _WORTH if unreliable else WORTH_A_LOOK
    much = _is_much(finding, evidence, share) and not _is_unsure(finding, evidence)
    return "warning" if much or finding.facts.get("worth_a_look") else "note"


def _is_much(finding: Finding, evidence: Evidence, share: float) -> bool:
    """Whether its time is that share of the whole that it is a part of, and worth a warning.

    On a busy machine the imports before the first op, several times as long, are no part of it.
    """
    time, us = time_table(evidence), finding.time_us or 0.0
    span = span_of_run(time)
    whole = whole_of(us, finding.repeats_us, repeated_table(evidence), span)
    if whole is None:
        return False
    imports = is_busy(evidence.recorded) and not whole.in_loops
    start_up = start_up_of(time) if imports else 0.0
    return whole.part >= max(share * (whole.us - start_up), LEAST_WARNED_US)


def _is_unsure(finding: Finding, evidence: Evidence) -> bool:
    """Whether it is about gaps and waits on a machine that other processes used."""
    waits = finding.id in waiting_owners() and "computed" not in finding.facts
    return waits and is_busy(evidence.recorded)


def avoidable_table(evidence: Evidence) -> pl.DataFrame:
    """Of each finding how much of its time is in loops: repeats_us (null: not known)."""
    return pl.DataFrame(
        {"repeats_us": [finding.repeats_us for finding in owned(evidence)[0]]},
        schema={"repeats_us": pl.Float64},
    )


def _ledger(evidence: Evidence) -> pl.DataFrame:
    return ledger_table(evidence, *_owners(evidence))


def asking_ledger_of(evidence: Evidence) -> pl.DataFrame:
    """The rows of the ledger of threads that call functions or dispatch ops."""
    return asking_ledger(evidence, *_owners(evidence))


def _owners(evidence: Evidence) -> tuple[Owners, pl.DataFrame]:
    """Which finding owns each stretch, and id and subject of each finding."""
    findings, owners = owned(evidence)
    named = [(finding.id, finding.subject) for finding in findings]
    schema = {"id": pl.String, "subject": pl.String}
    return owners, pl.DataFrame(named, schema, orient="row")


TABLES: dict[str, Callable[[Evidence], pl.DataFrame]] = {
    "findings": findings_table,
    "avoidable": avoidable_table,
    "ledger": _ledger,
    "time": time_table,
    "repeated": repeated_table,
}
"""Tables of a run that take all findings, or few commands need."""
