"""All findings of a run as a table, the most time at stake first."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.tables import as_table, schema
from tflogscope.model.executions import with_places
from tflogscope.model.findings.eager import eager_findings, eager_training
from tflogscope.model.findings.evidence import Evidence
from tflogscope.model.findings.finding import Finding
from tflogscope.model.findings.onednn import onednn_findings
from tflogscope.model.findings.recording import recording_findings
from tflogscope.model.findings.tracing import tracing_findings
from tflogscope.model.sentences import rows

WORTH_A_LOOK = 0.01  # of the time that the log covers
_LINES = 8  # of the evidence


def findings_table(evidence: Evidence) -> pl.DataFrame:
    """The `findings` table: one row per finding.

    Errors come first, then the most time at stake; what has none comes last. `line` is the first
    line of the evidence, `lines` the first eight of that source, `python` the line of the program
    that asked for most of it.
    """
    found = list(_all(evidence))
    if not found:
        return pl.DataFrame(schema=schema("findings"))
    worded = [_worded(finding, evidence.span_us) for finding in found]
    frame = pl.DataFrame(worded, infer_schema_length=None).with_row_index("row")
    lines = frame.select("row", "at").explode("at", empty_as_null=True).drop_nulls("at")
    placed = with_places(evidence.executions.spans, lines.sort("row", "at"))
    per = placed.group_by("row", maintain_order=True).agg(
        pl.col("source").first(),
        pl.col("line").first(),
        lines=pl.col("line").filter(pl.col("source") == pl.col("source").first()),
    )
    per = per.with_columns(pl.col("lines").cast(pl.List(pl.String)).list.join(";"))
    table = frame.join(per, on="row", how="left").with_columns(python=_asked(found, evidence))
    table = table.sort(
        "severity_rank",
        "time_us",
        "kind",
        "row",
        descending=[False, True, False, False],
        nulls_last=True,
    )
    return as_table("findings", table)


def _asked(found: list[Finding], evidence: Evidence) -> pl.Series:
    """The line of the program that asked for most of the evidence of each finding."""
    if evidence.lines.stacks.is_empty():
        return pl.repeat(None, len(found), dtype=pl.String, eager=True)
    rows = [(row, int(at)) for row, finding in enumerate(found) for at in finding.at]
    every = pl.DataFrame(rows, {"row": pl.Int64, "at": pl.Int64}, orient="row")
    every = every.with_columns(python=evidence.lines.begun_at(every["at"]))
    counted = every.drop_nulls().group_by("row", "python", maintain_order=True).agg(count=pl.len())
    most = counted.sort("count", descending=True, maintain_order=True).unique("row", keep="first")
    return pl.DataFrame({"row": pl.int_range(len(found), eager=True)}).join(
        most, on="row", how="left", maintain_order="left"
    )["python"]


def _all(evidence: Evidence) -> Iterator[Finding]:
    yield from recording_findings(evidence)
    yield from eager_findings(evidence)
    beside = eager_training(evidence)["beside"].drop_nulls()
    yield from tracing_findings(evidence, set(beside.to_list()))
    yield from onednn_findings(evidence)


def _worded(finding: Finding, span_us: int | None) -> dict[str, object]:
    row = rows("finding")[finding.id]
    time, is_error = finding.time_us, row.severity == "error"
    much = bool(time and span_us and time >= WORTH_A_LOOK * span_us)
    facts = {"subject": finding.subject, "count": finding.amount, "time": time, **finding.facts}
    return {
        "kind": list(rows("finding")).index(finding.id),
        "id": finding.id,
        "severity": row.severity or ("warning" if much else "note"),
        "severity_rank": 0 if is_error else 1,
        "subject": finding.subject,
        "count": finding.amount,
        "time_us": None if time is None else round(time, 3),
        "text": row.words(**facts),
        "advice": row.advised(**facts),
        "at": [int(at) for at in finding.at[:_LINES]],
    }
