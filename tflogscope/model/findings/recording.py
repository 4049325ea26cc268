"""Findings about the run and its log as a whole: failures, losses, what was not recorded."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.model.figures import count_of
from tflogscope.model.findings.evidence import Evidence, Finding, most

_MESSAGE = 160  # characters of a status that a finding quotes
_TORN = (
    "Record with tflogscope record, which keeps both streams in order, or with a terminal in place "
    "of a pipe: script -c 'python train.py' run.log."
)
_CUT_OFF = "The input itself is cut off or damaged: take a whole copy of it, or record again."


def recording_findings(evidence: Evidence) -> Iterator[Finding]:
    """What went wrong, and what the log can't say."""
    yield from _failures(evidence)
    yield from _unfinished(evidence)
    recorded = evidence.recorded
    unread, bad = recorded.onednn_unread_lines, recorded.bad_bytes
    if unread or bad or recorded.problems:
        said = [count_of(unread, "line") + " of oneDNN can't be read"] if unread else []
        said += [count_of(bad, "byte") + " are no text"] if bad else []
        text = "; ".join([*said, *recorded.problems])
        lost = evidence.events.primitives.filter(pl.col("reason").is_not_null())
        advice = [_TORN] * bool(unread or bad) + [_CUT_OFF] * bool(recorded.problems)
        yield Finding(
            "lines-lost",
            recorded.sources[0],
            unread,
            None,
            f"{text}.",
            lost["at"].to_list(),
            " ".join(advice),
        )
    frame = evidence.executions.frame
    if frame.height and not frame["duration_us"].count():
        text = f"Not one of {count_of(frame.height, 'execution')} has an end in the log."
        yield Finding(
            "no-durations", recorded.sources[0], frame.height, None, text, [frame["at"][0]]
        )


def _failures(evidence: Evidence) -> Iterator[Finding]:
    """Failures by op, function and status code: each once, with what ended because of it."""
    failures = evidence.failures
    for _, alike in failures.group_by("op", "function", "code", maintain_order=True):
        first = alike.row(0, named=True)
        where = f" in {first['function']}" if first["function"] else ""
        times = "" if alike.height == 1 else f" {alike.height:,} times"
        ended = [name for names in alike["ended"].to_list() for name in names]
        said = f"{first['code']}: {_cut(first['message'])}"
        if ended:
            said += f"; {most(pl.Series(ended))} ended because of it"
        yield Finding(
            "failed-ops",
            first["op"] or "?",
            alike.height,
            None,
            f"{first['op'] or '?'} failed{where}{times}: {said}{'' if said[-1] == '…' else '.'}",
            alike["at"].to_list(),
        )


def _cut(message: str) -> str:
    message = message.strip().rstrip(".")
    return message if len(message) <= _MESSAGE else message[: _MESSAGE - 1] + "…"


def _unfinished(evidence: Evidence) -> Iterator[Finding]:
    """What never ended. What tf.data runs by itself may be under way at the end of any program."""
    executions = evidence.executions
    rows = executions.frame.filter(pl.col("status") == "unfinished")
    cause = pl.lit(executions.steps["cause"]).gather(pl.col("step_row"))
    if rows.filter(cause.ne_missing("dataset-function")).is_empty():
        return
    ops = executions.signatures["op"].gather(rows["signature"])
    yield Finding(
        "unfinished",
        ops[0] or "?",
        rows.height,
        None,
        f"{count_of(rows.height, 'execution')} began and never ended: {most(ops)}.",
        rows["at"].to_list(),
    )
