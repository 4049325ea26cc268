"""All findings of a run as a table, the most time at stake first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import polars as pl

from tflogscope.events.scan import SourceSpan
from tflogscope.grammar.tables import schema
from tflogscope.model.executions import with_places
from tflogscope.model.facts import Lead
from tflogscope.model.findings.eager import eager_findings, eager_training
from tflogscope.model.findings.evidence import Evidence, Finding
from tflogscope.model.findings.gaps import between_findings
from tflogscope.model.findings.graphs import graph_findings
from tflogscope.model.findings.loops import loop_findings
from tflogscope.model.findings.onednn import onednn_findings
from tflogscope.model.findings.recording import recording_findings
from tflogscope.model.findings.tracing import tracing_findings
from tflogscope.model.once import once
from tflogscope.model.sentences import Row, rows
from tflogscope.model.source_text import line_with

WORTH_A_LOOK = 0.01  # of the time that the log covers
_LINES = 8  # of the evidence


def findings_table(evidence: Evidence) -> pl.DataFrame:
    """The `findings` table: one row per finding.

    Errors come first, then the most time at stake; what has none comes last. `line` is the first
    line of the evidence, `lines` the first eight of that source, `python` the line of the program
    that asked for most of it.
    """
    found, spans = _sorted(evidence), evidence.executions.spans
    table = [
        {
            **_worded(finding, evidence.span_us),
            **_lines(finding, spans),
            "python": finding.python or python,
        }
        for finding, python in zip(found, _asked(found, evidence), strict=True)
    ]
    return pl.DataFrame(table, schema("findings"))


def lead_of(evidence: Evidence) -> Lead | None:
    """What a verdict says of the first finding that is an error, else a warning.

    Without any it is the first note that `leads`: a setting of the program's that may cost time,
    which the log can't say.
    """
    notes = list[Lead]()
    for finding in _sorted(evidence):
        row, facts = rows("finding")[finding.id], _facts(finding)
        edit = facts.get("edit") or _set_at(row, evidence)
        lead = Lead(row.id, *row.leads(**facts), edit)
        if _severity(finding, row, evidence.span_us) != "note":
            return lead
        notes += [lead] * bool(facts.get("leads"))
    return next(iter(notes), None)


def _set_at(row: Row, evidence: Evidence) -> str | None:
    """The line of the program that makes the setting which a finding is about."""
    if not row.set_by:
        return None
    recorded_as = evidence.recorded_as or {}
    command = recorded_as.get("command")
    files = evidence.lines.python.str.replace(r":\d+$", "").unique(maintain_order=True).to_list()
    named = [*map(str, command)] if isinstance(command, list) else []
    return line_with(row.set_by, [*dict.fromkeys(named + files)], recorded_as)


@once
def _sorted(evidence: Evidence) -> list[Finding]:
    kinds = list(rows("finding"))
    return sorted(
        _all(evidence),
        key=lambda each: (
            rows("finding")[each.id].severity != "error",
            1.0 if each.time_us is None else -round(each.time_us, 3),
            kinds.index(each.id),
        ),
    )


def _lines(finding: Finding, spans: Sequence[SourceSpan]) -> dict[str, Any]:
    """Where the evidence is."""
    at = pl.Series("at", sorted(finding.at[:_LINES]), pl.Int64)
    placed = with_places(spans, at.to_frame())
    source = next(iter(placed["source"]), None)
    lines = placed["line"].filter(placed["source"] == source).to_list() if source else []
    joined = ";".join(map(str, lines)) or None
    return {"source": source, "line": next(iter(lines), None), "lines": joined}


def _asked(found: list[Finding], evidence: Evidence) -> Iterator[str | None]:
    """The line of the program that asked for most of the evidence of each finding."""
    if evidence.lines.stacks.is_empty():
        yield from [None] * len(found)
        return
    at = pl.Series("at", [at for finding in found for at in finding.at], pl.Int64)
    lines = iter(evidence.lines.begun_at(at))
    for finding in found:
        counts = Counter(islice(lines, len(finding.at)))
        yield next((line for line, _ in counts.most_common() if line), None)


def _all(evidence: Evidence) -> Iterator[Finding]:
    yield from recording_findings(evidence)
    yield from eager_findings(evidence)
    yield from tracing_findings(evidence)
    training = eager_training(evidence)
    yield from between_findings(evidence, set(training["beside"].drop_nulls()))
    yield from loop_findings(evidence, training["at"])
    yield from graph_findings(evidence)
    yield from onednn_findings(evidence)


def _worded(finding: Finding, span_us: int | None) -> dict[str, Any]:
    row, time, facts = rows("finding")[finding.id], finding.time_us, _facts(finding)
    return {
        "id": finding.id,
        "severity": _severity(finding, row, span_us),
        "subject": finding.subject,
        "count": finding.amount,
        "time_us": None if time is None else round(time, 3),
        "text": row.words(**facts),
        "advice": row.advised(**facts),
    }


def _facts(finding: Finding) -> dict[str, Any]:
    of_all = {"subject": finding.subject, "count": finding.amount, "time": finding.time_us}
    return {**of_all, **finding.facts}


def _severity(finding: Finding, row: Row, span_us: int | None) -> str:
    much = finding.time_us and span_us and finding.time_us >= WORTH_A_LOOK * span_us
    return row.severity or ("warning" if much else "note")
