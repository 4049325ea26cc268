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
        self._words: dict[int, str] = {}  # texts that are not numbers
        self._value = np.zeros(0)  # of each text; NaN: it is a word
        self._exec = -1
        self._sums: dict[str, tuple[int, float]] = {}

    def kinds(self) -> list[tuple[str, int, float]]:
        """Name, runs and µs of each kind, the most time first."""
        kinds = [(name, *sums) for name, sums in self._sums.items()]
        return sorted(kinds, key=lambda kind: -kind[2])

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
            is_exec = codes[np.where(there, first + place, 0)] == self._exec
            event[there & is_exec] = place
        rows = np.flatnonzero(event >= 0)
        us = self._value[codes[(first + count - 1)[rows]]] * 1e3
        kinds = codes[(first + event)[rows] + _TO_PRIMITIVE][np.isfinite(us)]
        found, kind = np.unique(kinds, return_inverse=True)
        sums = np.bincount(kind), np.bincount(kind, us[np.isfinite(us)])
        for code, runs, took in zip(found.tolist(), *(each.tolist() for each in sums), strict=True):
            name = self._words.get(code, "?")
            before, so_far = self._sums.get(name, (0, 0.0))
            self._sums[name] = (before + runs, so_far + took)

    def _read_texts(self) -> None:
        texts = pl.Series(self._news.texts("verbose"), dtype=pl.String)
        value = texts.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        words = np.flatnonzero(np.isnan(value))
        known = dict(zip((words + len(self._value)).tolist(), texts.gather(words), strict=True))
        self._exec = next((code for code, word in known.items() if word == _EXEC), self._exec)
        self._words |= known
        self._value = np.concatenate([self._value, value])
