"""Pairing against simple models: a queue for starts and ends, a stack for what nests."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.deep import examples
from tflogscope.events.pairing import pair_in_order
from tflogscope.model.common.pairing import match_in_order, match_nested, mixed_keys

# A log as a list of (key, is it an end?), in order.
Records = list[tuple[int, bool]]
RECORDS = st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=60)
THREADS = st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=60)


def paired(records: Records) -> list[tuple[int, int]]:
    """Positions of starts and of the ends that `pair_in_order` gives them."""
    starts = [at for at, (_, is_end) in enumerate(records) if not is_end]
    ends = [at for at, (_, is_end) in enumerate(records) if is_end]
    keys = np.array([key for key, _ in records], np.uint64)
    found = pair_in_order(keys, np.array([not is_end for _, is_end in records], bool))
    return [(starts[row], ends[end]) for row, end in zip(*found, strict=True)]


def queued(records: Records) -> list[tuple[int, int]]:
    """The model: the first start of a key has the first end, where no start and no end is lost."""
    pairs = []
    for key in {key for key, _ in records}:
        mine = [(at, is_end) for at, (each, is_end) in enumerate(records) if each == key]
        starts = [at for at, is_end in mine if not is_end]
        ends = [at for at, is_end in mine if is_end]
        pairs_by_number = list(zip(starts, ends, strict=False))
        if len(starts) == len(ends) and all(one < two for one, two in pairs_by_number):
            pairs += pairs_by_number
        else:  # an end belongs to the start right before it
            pairs += [
                (at, next_at)
                for (at, is_end), (next_at, next_is_end) in itertools.pairwise(mine)
                if next_is_end and not is_end
            ]
    return sorted(pairs)


@given(RECORDS)
@settings(max_examples=examples(100))
def test_pairs_are_those_of_a_queue(records: Records) -> None:
    assert paired(records) == queued(records)


@given(st.lists(st.integers(0, 5), max_size=30), st.randoms())
@settings(max_examples=examples(100))
def test_nothing_lost_means_nothing_open(keys: list[int], random: object) -> None:
    """Any interleaving of whole runs: every start has an end of its key, each end one start."""
    records: Records = []
    waiting: list[int] = []
    for key in keys:
        records.append((key, False))
        waiting.append(key)
        while waiting and random.random() < 0.5:  # type: ignore[attr-defined]
            records.append((waiting.pop(random.randrange(len(waiting))), True))  # type: ignore[attr-defined]
    records += [(key, True) for key in waiting]
    pairs = paired(records)
    assert len(pairs) == len(keys)
    assert len({end for _, end in pairs}) == len(keys)
    for start, end in pairs:
        assert records[start][0] == records[end][0]
        assert start < end


@pytest.mark.parametrize("starts", [0, 3])
@pytest.mark.parametrize("ends", [0, 3])
def test_pairing_of_nothing(starts: int, ends: int) -> None:
    records = [
        (1, is_end)
        for pair in range(3)
        for is_end in (False, True)
        if pair < (starts, ends)[is_end]
    ]
    assert len(paired(records)) == min(starts, ends)


# ---- spans that nest ----------------------------------------------------------------------------


def frames_of(records: Records) -> tuple[pl.DataFrame, pl.DataFrame]:
    schema = {"at": pl.Int64, "thread": pl.Int64}
    starts = [(at, key) for at, (key, is_end) in enumerate(records) if not is_end]
    ends = [(at, key) for at, (key, is_end) in enumerate(records) if is_end]
    return (
        pl.DataFrame(starts, schema=schema, orient="row"),
        pl.DataFrame(ends, schema=schema, orient="row"),
    )


def end_rows(records: Records) -> dict[int, int]:
    """Which row of the ends is at which position."""
    ends = [at for at, (_, is_end) in enumerate(records) if is_end]
    return {at: row for row, at in enumerate(ends)}


@given(THREADS)
def test_nested_spans_are_those_of_a_stack(records: Records) -> None:
    found = match_nested(*frames_of(records), nested=True)
    stacks: dict[int, list[int]] = defaultdict(list)
    expected = np.full(len(found), -1)
    row, rows = 0, end_rows(records)
    for at, (thread, is_end) in enumerate(records):
        if not is_end:
            stacks[thread].append(row)
            row += 1
        elif stacks[thread]:
            expected[stacks[thread].pop()] = rows[at]
    assert found.tolist() == expected.tolist()


@given(THREADS)
def test_spans_that_do_not_nest_end_in_the_order_of_their_starts(records: Records) -> None:
    found = match_nested(*frames_of(records), nested=False)
    starts: dict[int, list[int]] = defaultdict(list)
    ends: dict[int, list[int]] = defaultdict(list)
    for at, (thread, is_end) in enumerate(records):
        (ends if is_end else starts)[thread].append(at)
    position = [at for at, (_, is_end) in enumerate(records) if not is_end]
    rows = end_rows(records)
    expected = np.full(len(found), -1)
    for thread, mine in starts.items():
        for start, end in zip(mine, ends[thread], strict=False):
            if start < end:
                expected[position.index(start)] = rows[end]
    assert found.tolist() == expected.tolist()


# ---- what follows from what ---------------------------------------------------------------------


@given(RECORDS)
def test_what_follows_is_matched_by_number_or_by_nearness(records: Records) -> None:
    schema = {"at": pl.Int64, "key": pl.Int64}
    rows = [
        [(at, key) for at, (key, two) in enumerate(records) if two is which]
        for which in (False, True)
    ]
    first, second = (pl.DataFrame(some, schema=schema, orient="row") for some in rows)
    found = match_in_order(first, second).tolist()
    ones, twos = rows
    expected = []
    for at, key in twos:
        mine = [(one_at, row) for row, (one_at, each) in enumerate(ones) if each == key]
        others = [two_at for two_at, each in twos if each == key]
        even = len(mine) == len(others) and all(
            one_at < two_at for (one_at, _), two_at in zip(mine, others, strict=True)
        )
        if even:
            expected.append(mine[others.index(at)][1])
        else:
            expected.append(max((row for one_at, row in mine if one_at < at), default=-1))
    assert found == expected


def test_keys_of_several_columns_hardly_collide() -> None:
    step, node = (axis.ravel() for axis in np.meshgrid(np.arange(-300, 300), np.arange(300)))
    assert len(np.unique(mixed_keys(step, node))) == len(step)
    assert (mixed_keys(step, node) != mixed_keys(node, step)).sum() > 0.9 * len(step)
