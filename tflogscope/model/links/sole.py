"""Lines that leave no choice: exactly one execution is open around them.

Whatever a table says of its kernel, that execution ran the primitive. So a kernel that the table
lacks does no harm where ops run one after the other.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.model.executions import Executions
from tflogscope.model.frames import Integers, filled, holds
from tflogscope.model.names import CALLING_OPS


def sole_executions(executions: Executions, at: Integers) -> Integers:
    """Return for each line the row of the only execution open around it, -1: none, or several.

    `at` is in order. Calls, and ops that run a function or Python code, are open around what they
    run, and do not count. Nothing is said where the log prints no ends.
    """
    frame, signatures = executions.frame, executions.signatures
    found = np.full(len(at), -1, np.int64)
    runs = signatures.select(
        pl.col("kind").is_in(["op", "folding"]) & ~holds(pl.col("op").str.contains(CALLING_OPS))
    )
    works = runs.to_series().to_numpy()[frame["signature"].to_numpy()]
    status = frame["status"]
    if (status == "unknown").any():
        return found
    begin = np.searchsorted(at, frame["at"].to_numpy()).astype(np.uint32)
    until = np.searchsorted(at, filled(frame["end_at"]), side="right")
    # Most executions have no line of oneDNN's in them.
    rows = np.flatnonzero(
        (until > begin) & works & ((status == "done") | (status == "failed")).to_numpy()
    )
    begin, until = begin[rows], until[rows]

    def open_at_each_line(values: Integers) -> Integers:
        """The sum of the values of the executions that are open at each line."""
        size = len(at) + 1
        change = np.bincount(begin, values, size) - np.bincount(until, values, size)
        return np.cumsum(change)[:-1].astype(np.int64)

    # Where one is open, the sum of the rows of those that are is that one.
    alone = open_at_each_line(np.ones_like(rows)) == 1
    found[alone] = open_at_each_line(rows)[alone]
    endless = frame["at"].to_numpy()[works & (status == "unfinished").to_numpy()]
    if len(endless):
        found[at >= endless.min()] = -1
    return found
