"""Eager ops in the order in which Python asked for them, and patterns of neighbouring ops.

One Python statement is often several ops in a row (`Read, Read, DivNoNan`: the result of a
metric), so who asked for an op shows in its neighbours. Constants are left out: Python values
become tensors anywhere in between, and after their first use not at all.
"""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Names alone, without what makes a regular expression.
_PLAIN = re.compile(r"[\w|]+")

CALL = "call"
"""How a call of a graph function is named among the ops."""


def coded(values: pl.Series) -> tuple[pl.Series, Integers]:
    """Return the distinct strings, and for each value its place among them."""
    distinct = values.unique(maintain_order=True)
    codes = values.cast(pl.Enum(distinct)).to_physical()
    return distinct, codes.to_numpy().astype(np.int64)


class EagerSequence:
    """Dispatches by position: ordered by thread, and on a thread by line.

    `row` are rows of `Dispatches.eager`, `at` their lines. Neighbours are of one thread; where the
    log prints no threads all ops stand in one sequence.
    """

    def __init__(self, eager: pl.DataFrame, leave_out: Flags) -> None:
        thread = eager["thread"].to_numpy()
        at = eager["at"].to_numpy()
        kept = np.flatnonzero(~leave_out)
        self.row: Integers = kept[np.lexsort((at[kept], thread[kept]))]
        self.at: Integers = at[self.row]
        self.thread: Integers = thread[self.row]
        named = eager.select(pl.when("is_call").then(pl.lit(CALL)).otherwise("op").fill_null(""))
        self._names, code = coded(named.to_series())
        self._code: Integers = code[self.row]
        self._place = {name: place for place, name in enumerate(self._names)}
        self._found: dict[str, Flags] = {}
        self.begins: Flags = np.diff(self.thread, prepend=-2) != 0

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def position(self) -> Integers:
        """0, 1, 2, …: the positions themselves."""
        return np.arange(len(self))

    @cached_property
    def first(self) -> Integers:
        """The first position of the thread at each position."""
        return np.maximum.accumulate(np.where(self.begins, self.position, 0))

    @cached_property
    def end(self) -> Integers:
        """The position after the last one of the thread at each position."""
        ends = np.append(np.flatnonzero(self.begins)[1:], len(self))
        return np.repeat(ends, np.diff(ends, prepend=0))

    def is_op(self, pattern: str) -> Flags:
        """Whether the op at each position is one of those that the regular expression names."""
        if pattern not in self._found:
            self._found[pattern] = self._named(pattern)[self._code]
            self._found[pattern].flags.writeable = False
        return self._found[pattern]

    def _named(self, pattern: str) -> Flags:
        """Whether each of the distinct names is one that the regular expression names."""
        if not _PLAIN.fullmatch(pattern):
            return self._names.str.contains(f"^(?:{pattern})$").to_numpy()
        named = np.zeros(len(self._names), bool)
        named[[self._place[name] for name in pattern.split("|") if name in self._place]] = True
        return named

    def before(self, flags: Flags, distance: int = 1) -> Flags:
        """Whether the flag holds `distance` positions before, on the same thread."""
        rest = max(len(self) - distance, 0)
        found = np.zeros(len(self), bool)
        found[distance:] = flags[:rest] & (self.thread[distance:] == self.thread[:rest])
        return found

    def after(self, flags: Flags, distance: int = 1) -> Flags:
        """Whether the flag holds `distance` positions further on, on the same thread."""
        rest = max(len(self) - distance, 0)
        found = np.zeros(len(self), bool)
        found[:rest] = flags[distance:] & (self.thread[distance:] == self.thread[:rest])
        return found

    def chain(self, *patterns: str) -> Integers:
        """Return the positions where ops that match the patterns stand one after the other."""
        found = self.is_op(patterns[0])
        for distance, pattern in enumerate(patterns[1:], start=1):
            found = found & self.after(self.is_op(pattern), distance)
        return np.flatnonzero(found)

    def last(self, flags: Flags) -> Integers:
        """Return the last position up to each one where the flag holds, -1: none on its thread."""
        latest = np.maximum.accumulate(np.where(flags, self.position, -1))
        return np.where(latest >= self.first, latest, -1)

    def next(self, flags: Flags) -> Integers:
        """Return the next position after each one where the flag holds; the thread's end: none."""
        ahead = np.where(flags, self.position, len(self))
        ahead = np.minimum.accumulate(ahead[::-1])[::-1]
        found: Integers = np.minimum(np.append(ahead[1:], len(self)), self.end)
        return found

    def spread(self, begin: Integers, end: Integers, value: Integers) -> Integers:
        """Return the value of the range [begin, end) around each position, -1: none.

        Of ranges that overlap the last one counts.
        """
        size = end - begin
        where = np.repeat(begin - np.cumsum(size) + size, size) + np.arange(size.sum())
        found = np.full(len(self), -1, np.int64)
        found[where] = np.repeat(value, size)
        return found
