"""Places of a run as people name them: a line, a time, a time since the begin, a function."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tflogscope.errors import UsageError

if TYPE_CHECKING:
    from tflogscope.model.run import Run

_UNITS = {"us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 10**9, "min": 60 * 10**9}  # ns
_UNITS["h"] = 60 * _UNITS["min"]
_SINCE = re.compile(r"\+([0-9]{1,12}(?:\.[0-9]{1,9})?)(us|µs|ms|s|min|h)", re.ASCII)
_LINE = re.compile(r"[0-9]{1,18}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER = 2**62  # ns: longer than any log, and twice as much still fits
_HINT = "Use a line (30882), a time (03:56:54.2), or an offset from the start (+1.5s)."


def moment_ns(run: Run, text: str, *, last: bool) -> int:
    """When that is, in ns of `run.slices`.

    Args:
        run: the run.
        text: a line, a time of the day, date and time, or `+` and a time since the begin.
        last: of a line: whether all that began up to it is meant, else all from it on.

    Raises:
        UsageError: it can't be understood, or is not in the log.
    """
    if _LINE.fullmatch(text):
        return _of_line(run, int(text), last=last)
    if since := _SINCE.fullmatch(text):
        return min(round(float(since[1]) * _UNITS[since[2]]), _NEVER)
    origin = run.slices.origin
    if origin is None:
        raise UsageError("the log has no timestamps", text, "Use a line: --from 30882.")
    try:
        day = "" if "-" in text else f"{np.datetime64(origin, 'us').astype('M8[D]')}T"
        moment = datetime.fromisoformat(day + text)
    except ValueError:
        raise UsageError("neither a line nor a time", text, _HINT) from None
    # The log's times have no zone; they are counted as if it were UTC.
    since_epoch = (moment.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
    return max(-_NEVER, min((since_epoch - origin) * 1000, _NEVER))


def _of_line(run: Run, line: int, *, last: bool) -> int:
    frame = run.slices.frame.drop_nulls("line")
    reached = pl.col("line") <= line if last else pl.col("line") >= line
    ran = frame.filter(reached)
    if ran.is_empty():
        side = "up to" if last else "from"
        raise UsageError(f"nothing ran {side} this line", str(line), _HINT)
    if last:
        return int(ran["end_ns"].to_numpy().max())
    return int(ran["begin_ns"].to_numpy().min())


def of_function(name: str) -> pl.Expr:
    """Whether a row of the timeline is a call of this function, or ran inside it.

    `name` is a function, one trace of it (`train_function_809`), or the name as logged.
    """
    trace = pl.concat_str("function", "function_uid", separator="_")
    return (pl.col("function") == name) | (trace == name) | (pl.col("op") == name)
