"""Which record ends what another began.

The first column of the frames asked for is the place in the log; each record has its own.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.pairing import matched
from tflogscope.model.common.frames import Integers, begins, places_and_keys, running


def mixed_keys(*columns: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Return one 64-bit key per row of several integer columns (a multiply-xorshift hash)."""
    key = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        key ^= column.astype(np.int64).view(np.uint64)
        key *= np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


HALF = 1 << 32


def pair(one: pl.Series, two: pl.Series) -> pl.Series:
    """One number of two: polars finds equal rows by one column in far less memory."""
    return one.cast(pl.Int64) * HALF + two


def match_in_order(first: pl.DataFrame, second: pl.DataFrame) -> Integers:
    """Return for each row of `second` the row of `first` it follows from, -1: none.

    The columns behind the place are the keys. See `matched`.
    """
    place, key = places_and_keys(first, second)
    order = np.argsort(place, kind="stable")
    is_first = order < first.height
    one, two = order[is_first], order[~is_first] - first.height
    row = np.full(second.height, -1)
    row[two] = np.append(one, -1)[matched(key[order], is_first)]
    return row


def match_nested(starts: pl.DataFrame, ends: pl.DataFrame, *, nested: bool) -> Integers:
    """Return for each start the row of the end that closes it, -1: none.

    Both have a thread (-1: not printed) behind the place. On one thread spans nest; where threads
    are not printed and nothing nests, the first opened is taken as the first closed.
    """
    end = np.full(starts.height, -1)
    place, thread = places_and_keys(starts, ends)
    order = np.lexsort((place, thread))
    is_end = order >= starts.height
    new = begins(thread[order])
    if nested:
        level = running(np.where(is_end, -1, 1), new) + is_end
    else:
        level = np.where(is_end, running(is_end, new), running(~is_end, new))
    by_level = np.lexsort((level, thread[order]))
    order, is_end, level = order[by_level], is_end[by_level], level[by_level]
    closed = ~is_end[:-1] & is_end[1:] & ~begins(thread[order], level)[1:]
    end[order[:-1][closed]] = order[1:][closed] - starts.height
    return end
