"""What a store has more of since the last time: rows, distinct strings, and when they were."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tflogscope.events.store import Store
from tflogscope.events.times import NO_TIME, SECOND, clock_seconds
from tflogscope.grammar.model import Prefix
from tflogscope.native import library as c

Integers = NDArray[np.int64]
Column = NDArray[np.integer]
_STRINGS, _FIELDS, _ODDS = "strings", "fields", "odds"


class News:
    """The part of a store between two calls of `take`. Arrays are copies: the store grows."""

    def __init__(self, store: Store, prefixes: Sequence[Prefix]) -> None:
        self.store = store
        self.seconds = np.full(1, NO_TIME)
        """Of each clock, in the order of the log; at the end what `c.NONE` has."""
        self._prefixes = prefixes
        self._begin = self._end = dict.fromkeys((_STRINGS, _FIELDS, _ODDS), 0)
        self._text_begin = self._text_end = dict.fromkeys(c.TABLES, 0)

    def take(self) -> None:
        """Look at what has come since the last time."""
        raw = self.store.raw
        self._begin, self._text_begin = self._end, self._text_end
        self._end = {
            _STRINGS: raw.strings.count,
            _FIELDS: raw.field_used,
            _ODDS: raw.odd_used,
            **{name: raw.columns[number].used for number, name in enumerate(c.TABLES)},
        }
        self._text_end = dict(zip(c.TABLES, raw.strings.bytes, strict=True))
        self._read_clocks()

    def span(self, of: str) -> tuple[int, int]:
        """The numbers of the first new row and of the one behind the last."""
        return self._begin.get(of, 0), self._end[of]

    def rows(self, table: str, *names: str) -> list[Integers]:
        """New rows of these columns."""
        begin, end = self.span(table)
        return [self.store.column(table, name)[begin:end].astype(np.int64) for name in names]

    def fields(self) -> Integers:
        """New fields of verbose lines."""
        begin, end = self.span(_FIELDS)
        return self.store.fields()[begin:end].astype(np.int64)

    def odds(self) -> NDArray[np.void]:
        """New records of keys that are not simply a start and then its end."""
        begin, end = self.span(_ODDS)
        return self.store.odds()[begin:end].copy()

    def texts(self, table: str) -> list[str]:
        """New distinct strings of a table, by number."""
        return self.store.text(table, self._text_begin[table]).split("\n")[:-1]

    def tags(self, table: str) -> Integers:
        """What is known of each of these (see `scanner.c`): of texts the number of their file."""
        return self._entries(table)["tag"].astype(np.int64)

    def threads(self) -> Integers:
        """The thread of each new site, -1: not printed."""
        return self._entries("sites")["mark"].astype(np.int64)

    def us(self, clock: Column, micros: Column) -> Integers:
        """When that was, in µs since the epoch; NO_TIME: not known."""
        seconds = self.seconds[np.minimum(clock, len(self.seconds) - 1)]
        found: Integers = np.where(seconds == NO_TIME, NO_TIME, seconds * SECOND + micros)
        return found

    def _entries(self, table: str) -> NDArray[np.void]:
        return self.store.entries(table, self._begin[_STRINGS])

    def _read_clocks(self) -> None:
        texts, tags = np.array(self.texts("clocks"), object), self.tags("clocks")
        seconds = np.full(len(texts) + 1, NO_TIME)
        for tag in np.unique(tags).tolist():
            mine = np.flatnonzero(tags == tag)
            seconds[mine] = clock_seconds(texts[mine].tolist(), self._prefixes[tag])
        self.seconds = np.concatenate([self.seconds[:-1], seconds])
