"""Sums over intervals of time: how much of it is covered, how much is open at once, what is free.

Times are integers of any one unit. No interval is looked at twice: everything is sorted columns.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.model.common.frames import Integers


def parts(first: int, last: int, count: int, least: int = 1) -> Integers:
    """Return the edges of so many equal parts of a time, of fewer if they were shorter than
    `least`.
    """
    count = max(min(count, (last - first) // least), 1)
    # As integers of Python: the product of a long time and its parts may have more than 64 bits.
    return np.array([first + place * (last - first) // count for place in range(count + 1)])


def union(begin: Integers, end: Integers) -> tuple[Integers, Integers]:
    """Return the intervals joined where they touch or overlap, in order; empty ones are dropped."""
    real = end > begin
    if not real.all():
        begin, end = begin[real], end[real]
    # Most are nearly in order, which a stable sort makes use of.
    begin, end = np.sort(begin, kind="stable"), np.sort(end, kind="stable")
    # Where the n-th end comes before the next begin, all n that have begun are over.
    apart = begin[1:] > end[:-1]
    return begin[np.append(True, apart)[: len(begin)]], end[np.append(apart, True)[: len(end)]]


def covered(begin: Integers, end: Integers, edges: Integers) -> Integers:
    """Return for each pair of neighbouring edges the time in which at least one interval is open.

    What runs at the same time counts once.
    """
    return np.diff(_time_before(*union(begin, end), edges))


def open_time(begin: Integers, end: Integers, edges: Integers) -> Integers:
    """Return for each pair of neighbouring edges the time of all intervals in it, added up."""
    return np.diff(_time_before(np.sort(begin), np.sort(end), edges))


def covered_within(intervals: pl.DataFrame, windows: pl.DataFrame) -> pl.Series:
    """Return for each window the time in which at least one interval is open.

    Frames of begins and ends. Windows may overlap. What runs at the same time counts once.
    """
    (begin, end), (since, until) = (map(pl.Series.to_numpy, of) for of in (intervals, windows))
    begin, end = union(begin, end)
    return pl.Series(_time_before(begin, end, until) - _time_before(begin, end, since))


def newly_covered(begin: pl.Expr, end: pl.Expr, *keys: str) -> pl.Expr:
    """How much of each interval none with the same keys that began before covers.

    Their sum is the time in which at least one is open. Null where the end is.
    """
    reach = end.cum_max().shift(1).over(*keys, order_by=begin)
    return (end - pl.max_horizontal(begin, reach)).clip(0)


def _time_before(begin: Integers, end: Integers, edges: Integers) -> Integers:
    """Return the time of all intervals before each edge; begins and ends each sorted.

    The sum of min(end, edge) − begin over what has begun does not need to know which end belongs
    to which begin. The sums of times may go round past 2**63; their difference is right again.
    """
    started, ended = np.searchsorted(begin, edges), np.searchsorted(end, edges)
    begins = np.concatenate([[0], np.cumsum(begin)])[started]
    ends = np.concatenate([[0], np.cumsum(end)])[ended]
    sums: Integers = ends + (started - ended) * edges - begins
    return sums


def first_open(
    begin: Integers, end: Integers, order: Integers, first: int, last: int
) -> tuple[Integers, Integers]:
    """Cut the time between `first` and `last` where intervals begin and end.

    Returns the edges of the pieces, and for each piece the least `order` of the intervals that are
    open in it; where none is, one more than the greatest that there is.
    """
    edges = np.unique(np.clip(np.concatenate([[first, last], begin, end]), first, last))
    kinds = int(order.max()) + 1 if len(order) else 0
    least = np.full(len(edges) - 1, kinds)
    for kind in reversed(range(kinds)):
        of_kind = order == kind
        least[covered(begin[of_kind], end[of_kind], edges) > 0] = kind
    return edges, least


def gaps(begin: Integers, end: Integers, first: int, last: int) -> tuple[Integers, Integers]:
    """Return begins and ends of the times between `first` and `last` in which nothing is open."""
    from_, until = union(np.clip(begin, first, last), np.clip(end, first, last))
    left, right = np.append(first, until), np.append(from_, last)
    free = right > left
    return left[free], right[free]
