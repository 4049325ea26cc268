"""One block of text with its lines: bytes for NumPy, strings for polars, nothing copied.

NumPy reads fixed places of lines as words; polars gets strings of any ranges of the block as an
Arrow array that points into the block. A string that is kept for longer than the block's scan has
to be copied (`kept`), or it would keep the whole block in memory.
"""

from __future__ import annotations

import nanoarrow  # type: ignore[import-untyped]  # it ships no types
import numpy as np
import polars as pl

from tflogscope.events.digits import Positions, Words, words_of

_LINE_FEED = 10


class Block:
    """Lines of valid UTF-8, each ended by a line feed. Positions count bytes from the beginning.

    `starts` and `ends` are the lines' (without the line feed), `lengths` their bytes.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.bytes = np.frombuffer(text, np.uint8)
        self.words: Words = words_of(text)
        self.ends = np.flatnonzero(self.bytes == _LINE_FEED)
        self.starts = np.concatenate([np.zeros(1, np.int64), self.ends[:-1] + 1])
        self.lengths = self.ends - self.starts

    def __len__(self) -> int:
        return len(self.ends)

    def words_at(self, positions: Positions) -> Words:
        """Return the word at each position; the last word of the block where it would end it."""
        return self.words[np.minimum(positions, len(self.words) - 1)]

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
        """Return copies of lines; null where the row is past the end of the block."""
        distinct, place = np.unique(rows, return_inverse=True)
        found = kept(self.lines(distinct[distinct < len(self)]))
        return found.gather(pl.Series(place).set(pl.Series(rows >= len(self)), None))


def kept(strings: pl.Series) -> pl.Series:
    """Return copies that do not point into a block."""
    return pl.select(pl.concat_str(strings, pl.lit(""))).to_series()
