"""Nodes of graphs so far: how often each op type ran, for how long, on whose kernels."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.definitions import read_definitions
from tflogscope.events.pairing import pair_in_order
from tflogscope.events.times import NO_TIME
from tflogscope.live.news import Integers, News
from tflogscope.live.sums import Sums
from tflogscope.model.names import PLUMBING_NODES, PLUMBING_OPS, op_of_kernel, rewrite_of_kernel
from tflogscope.model.node_runs import FOLDING_STEP

_NOT_ENDED = 1 << 16  # starts that are still looked at, where a log prints no end


class Nodes:
    """Sums over runs of nodes; what moves values about, and constants ahead, are left out."""

    def __init__(self, news: News, sums: Sums) -> None:
        self.last_at = -1
        """The latest record of a node that is not worked out ahead."""
        self.folded = (np.zeros(0, np.int64), np.zeros(0, np.int64))
        """Place and time of the new runs that work out constants ahead."""
        self.rewrites: set[str] = set()
        """What has rewritten nodes: values of the column `rewrite`."""
        self._news, self._sums = news, sums
        self._op = np.zeros(0, np.int64)  # of each definition; -1: it is not counted
        self._rewritten = np.zeros(0, bool)
        self._open = np.zeros(0, np.int64)
        self._odds = news.store.odds()[:0].copy()
        self._has_ends = False

    def advance(self) -> None:
        """Add what is new."""
        self._read_definitions()
        at, step, clock, micros, definition = self._news.rows(
            "nodes", "at", "number", "clock", "micros", "text"
        )
        ahead = step == FOLDING_STEP
        self.folded = at[ahead], self._news.us(clock[ahead], micros[ahead])
        self.last_at = max(self.last_at, int(at[~ahead].max(initial=-1)))
        op = np.where(ahead, -1, self._op[definition])
        self._sums.add("graph", op)
        self._sums.add("graph_rewritten", op[self._rewritten[definition]])
        self._sums.add_by_clock("graph", clock[op >= 0])
        begin, _ = self._news.span("nodes")
        self._open = np.concatenate([self._open, begin + np.flatnonzero(op >= 0)])
        self._add_ends()
        self._add_odds()

    def _read_definitions(self) -> None:
        texts = self._news.texts("nodes")
        if not texts:
            return
        frame = read_definitions(pl.Series("text", texts, pl.String))
        kernel = pl.col("op")
        plumbing = kernel.is_in(PLUMBING_OPS) | pl.col("node").is_in(PLUMBING_NODES)
        frame = frame.select(
            op=op_of_kernel(kernel),
            rewrite=rewrite_of_kernel(kernel),
            left_out=plumbing.fill_null(value=False) | pl.col("dead"),
        )
        op = np.where(frame["left_out"].to_numpy(), -1, self._sums.rows_of(frame["op"]))
        self._op = np.concatenate([self._op, op])
        rewritten = frame.select((pl.col("rewrite") != "none").fill_null(value=False)).to_series()
        self._rewritten = np.concatenate([self._rewritten, rewritten.to_numpy()])
        self.rewrites.update(frame["rewrite"].unique())

    def _add_ends(self) -> None:
        """Runs that had begun, and have ended by now."""
        column = self._news.store.column
        ended = column("nodes", "end_at")[self._open] >= 0
        rows, self._open = self._open[ended], self._open[~ended]
        self._has_ends |= bool(len(rows))
        if not self._has_ends:
            self._open = self._open[-_NOT_ENDED:]
        names = ("text", "clock", "micros", "end_clock", "end_micros")
        definition, clock, micros, end_clock, end_micros = (
            column("nodes", name)[rows] for name in names
        )
        self._took(definition, self._news.us(clock, micros), self._news.us(end_clock, end_micros))

    def _add_odds(self) -> None:
        """Runs of loops: a node begins again before it has ended, or once more in its step."""
        if not len(new := self._news.odds()):
            return
        odds = np.sort(np.concatenate([self._odds, new]), order="at")
        is_start = odds["run"] >= 0
        starts, ends = odds[is_start], odds[~is_start]
        end = pair_in_order(starts["key"], ends["key"], starts["at"], ends["at"])
        done, found = starts[end >= 0], ends[end[end >= 0]]
        rest = np.concatenate([starts[end < 0], np.delete(ends, end[end >= 0])])
        self._odds = rest[-_NOT_ENDED:]
        self._open = self._open[~np.isin(self._open, starts["run"])]
        definition = self._news.store.column("nodes", "text")[done["run"]]
        begin = self._news.us(done["clock"], done["micros"])
        until = self._news.us(found["clock"], found["micros"])
        step = self._news.store.column("nodes", "number")[done["run"]]
        keep = step != FOLDING_STEP
        self._took(definition[keep], begin[keep], until[keep])

    def _took(self, definition: NDArray[np.integer], begin: Integers, end: Integers) -> None:
        known = (begin != NO_TIME) & (end != NO_TIME) & (end >= begin)
        op, us = self._op[definition[known]], (end - begin)[known]
        rewritten = self._rewritten[definition[known]]
        self._sums.add("graph_us", op, us)
        self._sums.add("graph_rewritten_us", op[rewritten], us[rewritten])
