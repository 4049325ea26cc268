"""What windows of threads, from one line of the log to another, would have taken without the log.

Each record in a window cost its thread the price of one, and each line that the hook of `record`
writes before an op or for a node what it says of itself: it looks up where the program is.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import Events
from tflogscope.model.costs import Price
from tflogscope.model.frames import Integers

_USUAL_LINE_US = 5.0  # of the hook, on the CPU on which `spans.DISPATCH_US` was measured


class WithoutLog:
    """Windows of some threads without the log.

    `price` None: the log doesn't say what a record costs.
    """

    def __init__(self, events: Events, price: Price | None, threads: pl.Series) -> None:
        records = events.records_on(threads).select("at", "thread")
        hook = events.messages("python_op").select("at", thread=pl.col("os_thread"))
        nodes = events.messages("python_node").select("at")
        self._at = _by_thread(records)
        # A line about a node does not say which thread it is of; one thread traces at a time.
        self._said = _by_thread(hook), np.sort(nodes["at"].to_numpy())
        self._price = price.usual if price else 0.0
        # The hook says at the program's end what its lines took. A line takes longer than a record.
        took = events.messages("python_cost").select(pl.col("took_ns").median() / 1000).item()
        self._hook_us = (took or self._price) if price else 0.0
        self.python_pace: float | None = max(took / _USUAL_LINE_US, 1.0) if took else None
        """How many times as long Python takes here as where its own times were measured."""

    def wall_us(
        self, thread: pl.Series, at: tuple[pl.Series, pl.Series], wall: pl.Series
    ) -> NDArray[np.float64]:
        """What windows would have taken, in µs, at least 0.

        Args:
            thread: of each window.
            at: the lines that it begins before and ends with.
            wall: what it took, in µs.
        """
        since, until = (each.to_numpy().astype(np.int64) for each in at)
        said, nodes = self._said
        lines = np.zeros(len(since))
        for each in np.unique(thread.to_numpy()):
            own = thread.to_numpy() == each
            window = since[own], until[own]
            lines[own] += self._price * _within(self._at.get(int(each)), *window)
            lines[own] += self._hook_us * _within(said.get(int(each)), *window)
        lines += self._hook_us * _within(nodes, since, until)
        return np.maximum(wall.to_numpy().astype(np.float64) - lines, 0.0)


def _by_thread(records: pl.DataFrame) -> dict[int, Integers]:
    parts = records.cast(pl.Int64).partition_by("thread", as_dict=True)
    return {int(str(thread)): np.sort(part["at"].to_numpy()) for (thread,), part in parts.items()}


def _within(at: Integers | None, since: Integers, until: Integers) -> Integers:
    if at is None:
        return np.zeros(len(since), np.int64)
    count: Integers = np.searchsorted(at, until, "right") - np.searchsorted(at, since, "right")
    return count
