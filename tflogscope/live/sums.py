"""Sums for each op type, and for each second."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tflogscope.events.times import NO_TIME
from tflogscope.live.news import Integers
from tflogscope.native import library as c

_COLUMNS = (
    *("eager", "eager_us", "eager_rewritten", "eager_rewritten_us"),
    *("graph", "graph_us", "graph_rewritten", "graph_rewritten_us"),
)
_STRIP = ("eager", "graph")
_RECENT = 512  # clocks: of the last seconds


@dataclass(frozen=True, slots=True)
class Op:
    """What has run of an op type, eagerly and in graphs, and of it on a rewrite's kernels; µs."""

    name: str
    eager: int = 0
    eager_us: int = 0
    eager_rewritten: int = 0
    eager_rewritten_us: int = 0
    graph: int = 0
    graph_us: int = 0
    graph_rewritten: int = 0
    graph_rewritten_us: int = 0

    @property
    def runs(self) -> int:
        """How often it ran."""
        return self.eager + self.graph

    @property
    def us(self) -> int:
        """What these took."""
        return self.eager_us + self.graph_us

    @property
    def rewritten(self) -> int:
        """How often it ran on a rewrite's kernel."""
        return self.eager_rewritten + self.graph_rewritten


class Sums:
    """Columns of sums, a row for each op type, and a row for each clock (a second of the log)."""

    def __init__(self) -> None:
        self._rows: dict[str | None, int] = {}
        self._sums = np.zeros((len(_COLUMNS), 0), np.int64)
        self._by_clock = np.zeros((len(_STRIP), 0), np.int64)

    def rows_of(self, ops: pl.Series) -> Integers:
        """The row of each op type; new ones get one."""
        distinct = ops.unique(maintain_order=True)
        rows = [self._rows.setdefault(name, len(self._rows)) for name in distinct]
        self._sums = _wider(self._sums, len(self._rows))
        new = pl.Series(rows, dtype=pl.Int64)
        found = pl.DataFrame({"op": ops}).join(
            pl.DataFrame({"op": distinct, "row": new}),
            on="op",
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        return found["row"].to_numpy()

    def add(self, column: str, rows: Integers, values: Integers | None = None) -> None:
        """Add values (1 each) to these rows; -1 is none."""
        known = rows >= 0
        weights = None if values is None else values[known]
        found = np.bincount(rows[known], weights, len(self._rows))
        self._sums[_COLUMNS.index(column)] += found.astype(np.int64)

    def add_by_clock(self, column: str, clocks: Integers) -> None:
        """Count what began at these clocks; `c.NONE` is none."""
        found = np.bincount(clocks[clocks < c.NONE])
        if len(found):
            self._by_clock = _wider(self._by_clock, len(found))
            self._by_clock[_STRIP.index(column), : len(found)] += found

    def ops(self) -> list[Op]:
        """The sums so far."""
        rows = self._sums.T.tolist()
        return [Op(name or "?", *row) for name, row in zip(self._rows, rows, strict=True)]

    def per_second(self, seconds: Integers, count: int) -> dict[str, list[int]]:
        """How many began in each of the last seconds up to that of the last of all clocks."""
        recent = np.flatnonzero(seconds != NO_TIME)[-_RECENT:]
        counts = _wider(self._by_clock, len(seconds))
        place = seconds[recent] - seconds[recent][-1] + count - 1 if len(recent) else recent
        inside = (place >= 0) & (place < count)
        found = np.zeros((len(_STRIP), count), np.int64)
        for row, by_clock in zip(found, counts, strict=True):
            np.add.at(row, place[inside], by_clock[recent[inside]])
        return dict(zip(_STRIP, found.tolist(), strict=True))


def _wider(sums: Integers, width: int) -> Integers:
    missing = width - sums.shape[1]
    return np.pad(sums, ((0, 0), (0, missing))) if missing > 0 else sums
