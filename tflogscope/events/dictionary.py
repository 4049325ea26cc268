"""Distinct strings, numbered in the order in which they are first seen.

A log of a million lines holds a few thousand distinct call sites, node definitions and message
texts. Everything that costs more than a hash is done on the distinct strings only, so the scan
turns each such string into a small integer here, by way of a 64-bit hash.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np
import polars as pl
from numpy.typing import NDArray

Codes = NDArray[np.int64]
_SLOTS = 1 << 18
_SLOT_MASK = np.uint64(_SLOTS - 1)


class Dictionary:
    """Distinct byte strings with dense codes. Safe to use from several threads.

    Two strings of equal 64-bit hash would share a code: with a hundred thousand distinct strings
    the chance of one such pair is below one in a billion.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._code_of: dict[int, int] = {}
        self._texts: list[pl.Series] = []
        # Two tables read without the lock: the hash that owns a slot, and its code (-1: none). A
        # slot is written code first, hash last, so a reader that sees the hash sees the code too.
        self._slot_hash = np.zeros(_SLOTS, np.uint64)
        self._slot_code = np.full(_SLOTS, -1, np.int64)

    def __len__(self) -> int:
        return len(self._code_of)

    def encode(self, hashes: NDArray[np.uint64], texts: Callable[[Codes], pl.Series]) -> Codes:
        """Return the code of each string, given its 64-bit hash.

        `texts` returns the strings  of chosen rows; it is called for new ones only.
        """
        slots = (hashes & _SLOT_MASK).astype(np.int64)
        codes = np.where(self._slot_hash[slots] == hashes, self._slot_code[slots], -1)
        missing = np.flatnonzero(codes < 0)
        if len(missing):
            codes[missing] = self._encode_missing(hashes[missing], missing, texts)
        return codes

    def _encode_missing(
        self, hashes: NDArray[np.uint64], rows: Codes, texts: Callable[[Codes], pl.Series]
    ) -> Codes:
        distinct, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        order = np.argsort(first)  # new strings get their codes in the order of the log
        codes = np.empty(len(distinct), np.int64)
        with self._lock:
            known = self._code_of
            before = len(known)
            new: list[int] = []
            values = distinct[order].tolist()
            for place, value in zip(order.tolist(), values, strict=True):
                code = known.get(value)
                if code is None:
                    code = known[value] = len(known)
                    new.append(place)
                codes[place] = code
            if new:
                self._texts.append(texts(rows[first[new]]).rechunk())
                # Where two hashes want one slot the first keeps it; the other is found above.
                slots = (distinct[new] & _SLOT_MASK).astype(np.int64)
                free = self._slot_code[slots] < 0
                self._slot_code[slots[free]] = np.arange(before, len(known))[free]
                self._slot_hash[slots[free]] = distinct[new][free]
        return codes[inverse]

    def texts(self, start: int = 0) -> pl.Series:
        """Return the distinct strings of code `start` and above, in the order of their codes."""
        with self._lock:
            if not self._texts:
                return pl.Series("text", [], pl.String)
            if len(self._texts) > 1:
                self._texts = [pl.concat(self._texts, rechunk=True)]
            return self._texts[0].slice(start)
