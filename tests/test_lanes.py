from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tflogscope.model.common.intervals import covered, gaps, open_time, parts, union
from tflogscope.model.slices.lanes import assign_lanes, nests

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=40)


def columns(spans: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    begin = np.array([first for first, _ in spans], np.int64)
    return begin, begin + np.array([length for _, length in spans], np.int64)


# ---- intervals -----------------------------------------------------------------------------------


@given(SPANS, st.integers(1, 7))
def test_shares_are_those_of_counting_unit_by_unit(
    spans: list[tuple[int, int]], count: int
) -> None:
    begin, end = columns(spans)
    edges = parts(3, 73, count)
    open_at = [sum(first <= time < last for first, last in zip(begin, end, strict=True))
               for time in range(3, 73)]  # fmt: skip
    for number, (first, last) in enumerate(zip(edges[:-1] - 3, edges[1:] - 3, strict=True)):
        inside = open_at[first:last]
        assert open_time(begin, end, edges)[number] == sum(inside)
        assert covered(begin, end, edges)[number] == sum(each > 0 for each in inside)


@given(SPANS)
def test_union_and_gaps_share_the_time_between_them(spans: list[tuple[int, int]]) -> None:
    begin, end = columns(spans)
    joined, free = union(begin, end), gaps(begin, end, 0, 100)
    assert (joined[1] - joined[0]).sum() + (free[1] - free[0]).sum() == 100
    assert (joined[0][1:] > joined[1][:-1]).all()


def test_sums_past_the_range_of_the_numbers_are_right() -> None:
    begin = np.full(10, 2**61, np.int64)
    assert open_time(begin, begin + 5, np.array([0, 2**61 + 2, 2**62])).tolist() == [20, 30]


def test_parts_are_equal_and_not_shorter_than_asked() -> None:
    assert parts(10, 20, 5).tolist() == [10, 12, 14, 16, 18, 20]
    assert parts(0, 2500, 80, least=1000).tolist() == [0, 1250, 2500]
    assert parts(0, 1, 80, least=1000).tolist() == [0, 1]


# ---- lanes ---------------------------------------------------------------------------------------


@st.composite
def slices(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups, begins and ends: ranks, each once, an end after its begin."""
    count = draw(st.integers(0, 30))
    order = np.array(draw(st.permutations(range(2 * count))), np.int64).reshape(count, 2)
    groups = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    return np.array(groups, np.int64), order.min(1, initial=99), order.max(1, initial=-1)


@given(slices())
def test_lanes_do_not_overlap_and_are_as_few_as_can_be(
    made: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    group, begin, end = made
    lane = assign_lanes(group, begin, end)
    for one in np.unique(group):
        here = group == one
        most = max(int(((begin[here] <= at) & (end[here] > at)).sum()) for at in begin[here])
        assert set(lane[here]) == set(range(most))
        for number in range(most):
            mine = np.flatnonzero(here & (lane == number))
            mine = mine[np.argsort(begin[mine])]
            assert (begin[mine][1:] > end[mine][:-1]).all()


def test_after_a_pause_the_first_lane_is_taken_again() -> None:
    begin, end = np.array([0, 1, 4, 6]), np.array([2, 3, 5, 7])
    assert assign_lanes(np.zeros(4, np.int64), begin, end).tolist() == [0, 1, 0, 0]


@given(slices())
def test_lanes_that_nest_are_told_as_by_looking_at_each_pair(
    made: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    _, begin, end = made
    lane = assign_lanes(np.zeros(len(begin), np.int64), begin, end)
    for one in range(lane.max(initial=-1)):
        sides = []
        for number in (one, one + 1):
            mine = np.flatnonzero(lane == number)
            mine = mine[np.argsort(begin[mine])]
            sides.append((begin[mine], end[mine]))
        (first, last), (in_first, in_last) = sides
        crossing = any(
            a < c < b < d or c < a < d < b
            for a, b in zip(first, last, strict=True)
            for c, d in zip(in_first, in_last, strict=True)
        )
        assert nests(first, last, in_first, in_last) is not crossing
        assert nests(in_first, in_last, first, last) is not crossing
