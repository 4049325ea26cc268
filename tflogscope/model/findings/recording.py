"""Findings about the run and its log as a whole: failures, losses, what was not recorded."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.model.findings.evidence import Evidence
from tflogscope.model.findings.finding import Finding, most
from tflogscope.model.frames import rows, where

_MESSAGE = 160  # characters of a status that a finding quotes


def recording_findings(evidence: Evidence) -> Iterator[Finding]:
    """What went wrong, and what the log can't say."""
    yield from _failures(evidence)
    yield from _unfinished(evidence)
    recorded = evidence.recorded
    torn = {"unread": recorded.onednn_unread_lines, "bad": recorded.bad_bytes}
    if any(torn.values()) or recorded.problems:
        primitives = evidence.events.primitives
        lost = primitives["at"].filter(primitives["reason"].is_not_null())
        facts = {**torn, "torn": any(torn.values()), "problems": recorded.problems}
        unread, source = recorded.onednn_unread_lines, recorded.sources[0]
        yield Finding("lines-lost", source, unread, None, lost.to_list(), facts)
    frame = evidence.executions.frame
    if frame.height and not frame["duration_us"].count():
        first = [frame["at"][0]]
        yield Finding("no-durations", recorded.sources[0], frame.height, None, first, {})


def _failures(evidence: Evidence) -> Iterator[Finding]:
    """Failures by op, function and status code: each once, with what ended because of it."""
    for alike in evidence.failures.partition_by("op", "function", "code"):
        first = alike.row(0, named=True)
        ended = [name for names in alike["ended"].to_list() for name in names]
        message = _cut(first["message"])
        facts = {
            "function": first["function"],
            "times": alike.height if alike.height > 1 else None,
            "code": first["code"],
            "message": message,
            "ended": most(pl.Series(ended)) if ended else [],
            "whole": bool(ended) or not message.endswith("…"),
        }
        at = alike["at"].to_list()
        yield Finding("failed-ops", first["op"] or "?", alike.height, None, at, facts)


def _cut(message: str) -> str:
    message = message.strip().rstrip(".")
    return message if len(message) <= _MESSAGE else message[: _MESSAGE - 1] + "…"


def _unfinished(evidence: Evidence) -> Iterator[Finding]:
    """What never ended. What tf.data runs on its own may be under way at the end of any program."""
    executions = evidence.executions
    left = rows(executions.frame, where(executions.frame["status"] == "unfinished"))
    causes = rows(executions.steps["cause"], left["step_row"])
    if (causes == "dataset-function").sum() == left.height:
        return
    ops, at = rows(executions.signatures["op"], left["signature"]), left["at"].to_list()
    yield Finding("unfinished", ops[0] or "?", left.height, None, at, {"ops": most(ops)})
