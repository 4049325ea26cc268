"""One block of text with its lines: words for NumPy, strings for polars, nothing copied.

NumPy reads pieces of a line as 8-byte words; polars gets strings of any ranges of the block as an
Arrow array that points into the block. A string that is kept for longer than the block's scan has
to be copied (`kept`), or it would keep the whole block in memory.
"""

from __future__ import annotations

import nanoarrow  # type: ignore[import-untyped]  # it ships no types
import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.digits import Positions, Words

_LINE_FEED = 10


class Block:
    """Lines of valid UTF-8, each ended by a line feed. Positions count bytes from the beginning.

    `starts` and `ends` are the lines' (without the line feed), `lengths` their bytes.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.bytes = np.frombuffer(text, np.uint8)
        self.ends = np.flatnonzero(self.bytes == _LINE_FEED)
        self.starts = np.concatenate([np.zeros(1, np.int64), self.ends[:-1] + 1])
        self.lengths = self.ends - self.starts

    def __len__(self) -> int:
        return len(self.ends)

    def words(self, positions: Positions, count: int) -> Words:
        """Return `count` little-endian words from each position on, as an array of `count` rows.

        Past the end of the block the bytes are zero. One copy of several words costs what one of a
        single word does, and what is done with them later needs no address.
        """
        size = 8 * count
        last = len(self.text) - size
        if not len(positions):
            return np.zeros((count, 0), np.uint64)
        if last >= 0 and positions.max() <= last:
            return _words(self.text, positions, count)
        base = max(0, last)
        end = self.text[base:] + bytes(2 * size)
        near = np.flatnonzero(positions > last)
        found = np.empty((count, len(positions)), np.uint64)
        found[:, near] = _words(end, np.minimum(positions[near] - base, size), count)
        rest = np.flatnonzero(positions <= last)
        if len(rest):
            found[:, rest] = _words(self.text, positions[rest], count)
        return found

    def word(self, positions: Positions) -> Words:
        """Return the word at each position, see `words`."""
        words: Words = self.words(positions, 1)[0]
        return words

    def strings(self, starts: Positions, ends: Positions) -> pl.Series:
        """Return the text of ranges as strings that point into the block.

        Ranges ascend and do not overlap, and begin and end between characters; a range that would
        end before it starts is empty.
        """
        if not len(starts):
            return pl.Series(dtype=pl.String)
        bounds = np.empty(2 * len(starts), np.int64)
        bounds[0::2] = starts
        bounds[1::2] = np.maximum(starts, ends)
        # Arrow's strings lie one after the other: what is between two ranges is a string as well.
        array = nanoarrow.c_array_from_buffers(
            nanoarrow.large_string(), len(bounds) - 1, buffers=[None, bounds, self.text]
        )
        return pl.Series(array).gather_every(2)

    def lines(self, rows: Positions) -> pl.Series:
        """Return the lines of ascending rows."""
        return self.strings(self.starts[rows], self.ends[rows])

    def kept_lines(self, rows: Positions) -> pl.Series:
        """Return copies of the lines of ascending rows."""
        return kept(self.lines(rows))


def kept(strings: pl.Series) -> pl.Series:
    """Return copies that do not point into a block."""
    return strings + ""


def _words(text: bytes, positions: Positions, count: int) -> Words:
    size = 8 * count
    pieces: NDArray[np.void] = np.ndarray(
        (len(text) - size + 1,), f"V{size}", buffer=text, strides=(1,)
    )
    words: Words = pieces[positions].view("<u8").reshape(-1, count).T
    return words
