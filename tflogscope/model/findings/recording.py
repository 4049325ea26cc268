"""Findings about the run and its log as a whole: failures, losses, what was not recorded."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.model.executions import STATUSES
from tflogscope.model.figures import count_of
from tflogscope.model.findings.evidence import Evidence, Finding, most

_ENDING = ("IteratorGetNext", "IteratorGetNextSync")


def recording_findings(evidence: Evidence) -> Iterator[Finding]:
    """What went wrong, and what the log can't say."""
    yield from _ended_badly(evidence)
    recorded = evidence.recorded
    unread, bad = recorded["onednn_unread_lines"], recorded["bad_bytes"]
    if unread or bad or recorded["problems"]:
        said = [count_of(unread, "line") + " of oneDNN can't be read"] if unread else []
        said += [count_of(bad, "byte") + " are no text"] if bad else []
        text = "; ".join([*said, *(str(problem) for problem in recorded["problems"])])
        lost = evidence.executions.events.primitives.filter(pl.col("reason").is_not_null())
        yield Finding(
            "lines-lost", recorded["sources"][0], unread, None, f"{text}.", lost["at"].to_list()
        )
    frame = evidence.executions.frame
    if frame.height and not frame["duration_us"].count():
        text = f"None of {count_of(frame.height, 'execution')} has an end in the log."
        yield Finding(
            "no-durations", recorded["sources"][0], frame.height, None, text, [frame["at"][0]]
        )


def _ended_badly(evidence: Evidence) -> Iterator[Finding]:
    executions = evidence.executions
    for status, id_, what in (
        ("failed", "failed-ops", "failed"),
        ("unfinished", "unfinished", "began and never ended"),
    ):
        rows = executions.frame.filter(pl.col("status") == STATUSES.index(status))
        rows = rows.with_columns(op=executions.signatures["op"].gather(rows["signature"]))
        if status == "failed":
            rows = _without_ends_of_data(rows)
        if rows.height:
            text = f"{count_of(rows.height, 'execution')} {what}: {most(rows['op'])}."
            subject = rows["op"][0] or "?"
            yield Finding(id_, subject, rows.height, None, text, rows["at"].to_list())


def _without_ends_of_data(failed: pl.DataFrame) -> pl.DataFrame:
    """Leave out iterators that have no next element, and the calls that fail by it.

    That is how a loop over a data set ends (core/kernels/data/iterator_ops.cc: OutOfRange).
    """
    ended = pl.col("op").is_in(_ENDING)
    calls = failed.filter(ended)["call"].drop_nulls().implode()
    return failed.filter(~ended.fill_null(False) & ~pl.col("call").is_in(calls).fill_null(False))
