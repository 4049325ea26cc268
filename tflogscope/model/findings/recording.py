"""Findings about the run and its log as a whole: failures, losses, what was not recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from tflogscope.model.ending import read_endings
from tflogscope.model.findings.evidence import Evidence, Finding, most
from tflogscope.model.frames import rows, where

_MESSAGE = 160  # characters of a status that a finding quotes
# Where it was raised, before what was: tsl/platform/errors.h, FormatFunctionForError.
_NODE_AROUND = re.compile(r"\{\{(?:function_)?node [^{}]*\}\} ?")
_DESTROYS = r"^(?:Destroy|Delete)"
_ASKED = ("SIGTERM", "SIGHUP", "SIGQUIT")


def recording_findings(evidence: Evidence) -> Iterator[Finding]:
    """What went wrong, and what the log can't say."""
    yield from _crashed(evidence)
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


def _crashed(evidence: Evidence) -> Iterator[Finding]:
    """Programs that an error, a signal or an exit status other than 0 ended.

    A program that ran ops after it had printed a traceback went on; one that ends destroys what
    it has. Who presses Ctrl-C knows that it ended.
    """
    eager = evidence.executions.eager
    ops = rows(evidence.executions.signatures["op"], eager["signature"])
    ran = eager["at"].filter(~ops.str.contains(_DESTROYS).fill_null(value=False))
    for ending in read_endings(evidence.events.spans):
        went_on = bool((ran > ending.at).any())
        error = None if went_on else ending.error
        if ending.status is None and (error is None or not ending.is_last):
            continue
        if ending.signal == "SIGINT" or (error or "").startswith("KeyboardInterrupt"):
            continue
        file, line = (None if went_on else ending.frame) or (None, 0)
        python = f"{_as_recorded(file, evidence)}:{line}" if file else None
        said = _cut(error or ending.printed or "")
        facts = {
            "status": ending.status,
            "signal": ending.signal,
            "error": said if error else None,
            "printed": None if error else said,
            "whole": not said.endswith("…"),
            "python": python,
            "memory": ending.signal == "SIGKILL",
            "asked": ending.signal in _ASKED,
            "native": ending.signal,
        }
        subject = ending.signal or (error or "").partition(":")[0] or f"status {ending.status}"
        yield Finding("crashed", subject, 1, None, [ending.at], facts, python)


def _as_recorded(path: str, evidence: Evidence) -> str:
    """A file as the lines of `record` name it, from the program's folder on; else its own name."""
    files = evidence.lines.stacks["python"].str.replace(r":\d+$", "").unique()
    path = path.replace("\\", "/")
    known = [each for each in files if path == each or path.endswith(f"/{each}")]
    return max(known, key=len, default=path.rpartition("/")[2])


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
        at, python = alike["at"].to_list(), _line_of(first["row"], evidence)
        yield Finding("failed-ops", first["op"] or "?", alike.height, None, at, facts, python)


def _line_of(row: int | None, evidence: Evidence) -> str | None:
    """The line of the program that asked for an execution, else for the call that it is of."""
    executions, lines = evidence.executions, evidence.lines
    if row is None or lines.stacks.is_empty():
        return None
    call = executions.calls.filter(pl.col("call").eq_missing(executions.frame["call"][row]))["row"]
    asked = lines.named(rows(lines.of_executions, pl.Series([row, *call.head(1)])))
    return next(iter(asked.drop_nulls()), None)


def _cut(message: str) -> str:
    message = _NODE_AROUND.sub("", message).strip().rstrip(".")
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
