"""Lines that leave no choice: exactly one execution is open around them.

Whatever a table says of its kernel, that execution ran the primitive. So a kernel that the table
lacks does no harm where ops run one after the other.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.model.executions import STATUSES, Executions
from tflogscope.model.names import CALLING_OPS

Integers = NDArray[np.int64]
_OPEN_STATUSES = tuple(STATUSES.index(name) for name in ("done", "failed"))
_UNKNOWN, _UNFINISHED = (STATUSES.index(name) for name in ("unknown", "unfinished"))


def sole_executions(executions: Executions, at: Integers) -> Integers:
    """Return for each line the row of the only execution open around it, -1: none, or several.

    Calls, and ops that run a function or Python code, are open around what they run, and do not
    count. Nothing is said where the log prints no ends.
    """
    frame, signatures = executions.frame, executions.signatures
    found = np.full(len(at), -1, np.int64)
    runs = signatures.select(
        pl.col("kind").is_in(["op", "folding"])
        & ~pl.col("op").str.contains(CALLING_OPS).fill_null(value=False)
    )
    works = runs.to_series().gather(frame["signature"]).to_numpy()
    status = frame["status"].to_numpy()
    if np.isin(status, _UNKNOWN).any():
        return found
    rows = np.flatnonzero(works & np.isin(status, _OPEN_STATUSES))
    end = frame["end_at"].gather(rows).to_numpy()
    by_end = np.argsort(end, kind="stable")
    # What has begun less what has ended before: its count, and the sum of its rows, so that where
    # it is one, the sum is that one.
    started = np.searchsorted(frame["at"].to_numpy()[rows], at, side="right")
    ended = np.searchsorted(end, at, side="left", sorter=by_end)
    alone = started - ended == 1
    found[alone] = (_sums(rows, started) - _sums(rows[by_end], ended))[alone]
    endless = frame["at"].to_numpy()[works & (status == _UNFINISHED)]
    if len(endless):
        found[at >= endless.min()] = -1
    return found


def _sums(values: Integers, counts: Integers) -> Integers:
    """The sum of so many values, from the first one on."""
    return np.where(counts > 0, np.cumsum(values)[counts - 1], 0) if len(values) else counts
