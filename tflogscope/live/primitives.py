"""Primitives of oneDNN so far: how many, and for how long. Lines whose end is cut are left out."""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.live.news import News

_EXEC = "exec"
_FIRST_FIELDS = 6  # the event is one of these: see grammars/onednn
_TO_PRIMITIVE = 2  # fields from the event on: engine, primitive
_COUNT = (1 << 16) - 1  # of what a verbose line has: the number of its fields


class Primitives:
    """Executions and µs, of each kind of primitive."""

    def __init__(self, news: News) -> None:
        self._news = news
        self._texts: list[str] = []
        self._value = np.zeros(0)  # of each text that is a number
        self._is_exec = np.zeros(0, bool)
        self._runs = np.zeros(0, np.int64)
        self._us = np.zeros(0)

    def kinds(self) -> list[tuple[str, int, float]]:
        """Name, runs and µs of each kind, the most time first."""
        kinds = np.flatnonzero(self._runs)
        kinds = kinds[np.argsort(-self._us[kinds], kind="stable")]
        return [
            (self._texts[kind], int(self._runs[kind]), float(self._us[kind]))
            for kind in kinds.tolist()
        ]

    def advance(self) -> None:
        """Add what is new."""
        self._read_texts()
        first, number = self._news.rows("verbose", "text", "number")
        codes = self._news.fields()
        if not len(first):
            return
        count = number & _COUNT
        first = first - first[0]
        event = np.full(len(first), -1)
        for place in range(1, _FIRST_FIELDS):
            there = (count > place + _TO_PRIMITIVE) & (event < 0)
            is_exec = self._is_exec[codes[np.where(there, first + place, 0)]]
            event[there & is_exec] = place
        rows = np.flatnonzero(event >= 0)
        us = self._value[codes[(first + count - 1)[rows]]] * 1e3
        kind = codes[(first + event)[rows] + _TO_PRIMITIVE]
        known = np.isfinite(us)
        size = len(self._texts)
        self._runs += np.bincount(kind[known], minlength=size)
        self._us += np.bincount(kind[known], us[known], size)

    def _read_texts(self) -> None:
        texts = self._news.texts("verbose")
        distinct = pl.Series(texts, dtype=pl.String)
        values = distinct.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        self._texts += texts
        self._value = np.concatenate([self._value, values])
        self._is_exec = np.concatenate([self._is_exec, (distinct == _EXEC).to_numpy()])
        more = len(texts)
        self._runs = np.concatenate([self._runs, np.zeros(more, np.int64)])
        self._us = np.concatenate([self._us, np.zeros(more)])
