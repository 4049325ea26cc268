"""Lanes: rows of a picture in which nothing overlaps, or what overlaps is nested.

Begins and ends are ranks: integers of which no two are the same, in the order of time.
"""

from __future__ import annotations

import numpy as np

from tflogscope.model.common.frames import Integers


def assign_lanes(group: Integers, begin: Integers, end: Integers) -> Integers:
    """Return for each slice a lane in its group, from 0, so that no two in one lane overlap.

    There are as many lanes in a group as slices that are ever open at once in it. Whenever none is
    open, the next goes to lane 0 again; between such moments a slice takes the lane that became
    free last.
    """
    count = len(begin)
    if not count:
        return np.zeros(0, np.int64)
    slice_, change, bursts, open_ = _events(group, begin, end)
    is_begin = change > 0
    # The most that were open at once so far in the burst: so many lanes there are.
    offset = bursts * (count + 1)
    most = np.maximum.accumulate(open_ + offset) - offset
    before = np.where(is_begin & (open_ == 1), 0, np.append(0, most[:-1]))
    is_new = is_begin & (most > before)
    # Lanes that became free lie on a stack: an end puts its lane on it, a begin takes the top.
    # So in one level of the stack ends and begins take turns.
    level = most - open_ + is_begin
    uses = np.flatnonzero(~is_new)
    uses = uses[np.lexsort((uses, level[uses], bursts[uses]))]
    taken = np.flatnonzero(is_begin[uses])
    root = np.arange(count)
    root[slice_[uses[taken]]] = slice_[uses[taken - 1]]
    # Follow the chain of slices in one lane to its first: each round doubles the step.
    for _ in range(count.bit_length()):
        root = root[root]
    lane = np.zeros(count, np.int64)
    lane[slice_[is_new]] = most[is_new] - 1
    return lane[root]


def _events(
    group: Integers, begin: Integers, end: Integers
) -> tuple[Integers, Integers, Integers, Integers]:
    """Begins and ends in order, by group: slice, +1 or −1, burst, how many are open after it."""
    count = len(begin)
    slice_ = np.tile(np.arange(count), 2)
    change = np.repeat(np.array([1, -1]), count)
    order = np.lexsort((np.concatenate([begin, end]), group[slice_]))
    slice_, change = slice_[order], change[order]
    open_ = np.cumsum(change)  # back at 0 at the end of each group
    return slice_, change, np.cumsum((change > 0) & (open_ == 1)), open_


def nests(begin: Integers, end: Integers, in_begin: Integers, in_end: Integers) -> bool:
    """Whether two lanes can be one: each slice of either is inside one of the other, or outside.

    Both lanes are sorted, and nothing overlaps inside either.
    """
    if not len(begin) or not len(in_begin):
        return True
    at_begin = np.searchsorted(in_begin, begin) - 1  # the last of the other that began before
    at_end = np.searchsorted(in_begin, end) - 1
    inside = (at_begin >= 0) & (in_end[at_begin] > begin)
    cut = inside & (end > in_end[at_begin])
    cut |= (at_end > at_begin) & (in_end[at_end] > end)
    return not cut.any()
