"""The words for frames against plain Python."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tflogscope.model.common.frames import (
    alike,
    among,
    first_after,
    first_with,
    holds,
    last_before,
    looked_up,
    row_with,
    rows,
    running,
    where,
)

Row = tuple[int, str | None, int | None]
KEYS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.sampled_from(["a", "b", "", None]),
        st.sampled_from([0, -1, 2**63 - 1, 2**63 - 2, None]),
    ),
    max_size=20,
)


def frame(found: list[Row]) -> pl.DataFrame:
    schema = {"at": pl.Int64, "name": pl.String, "thread": pl.Int64}
    return pl.DataFrame(found, schema=schema, orient="row")


@given(KEYS, KEYS)
def test_equal_keys_and_no_others_have_the_same_number(one: list[Row], other: list[Row]) -> None:
    mine, its = alike(frame(one)[:, 1:], frame(other)[:, 1:])
    numbers = [*zip(mine.tolist(), one, strict=True), *zip(its.tolist(), other, strict=True)]
    for number, (_, *key) in numbers:
        assert all((number == each) == (key == keys) for each, (_, *keys) in numbers)


@given(KEYS, KEYS, st.sampled_from([1, 2, 3]))
def test_the_row_before_and_the_row_after(one: list[Row], other: list[Row], width: int) -> None:
    other = list({row[0]: row for row in other}.values())  # each has its own place
    before = last_before(frame(one)[:, :width], frame(other)[:, :width])
    after = first_after(frame(one)[:, :width], frame(other)[:, :width])
    for row, last, first in zip(one, before.tolist(), after.tolist(), strict=True):
        same = [(each[0], n) for n, each in enumerate(other) if each[1:width] == row[1:width]]
        assert last == max((each for each in same if each[0] < row[0]), default=(0, -1))[1]
        assert first == min((each for each in same if each[0] > row[0]), default=(0, -1))[1]


@given(KEYS, KEYS, st.sampled_from([0, 1]))
def test_the_first_row_with_a_key(one: list[Row], other: list[Row], least: int) -> None:
    found = row_with(frame(one)[:, least:], frame(other)[:, least:])
    keys = [row[least:] for row in other]
    assert found.tolist() == [keys.index(row[least:]) if row[least:] in keys else -1 for row in one]


@given(st.lists(st.integers(-1, 5), max_size=10))
def test_the_first_place_of_a_number(numbers: list[int]) -> None:
    found = first_with(np.array(numbers, np.int64), 6)
    assert found.tolist() == [numbers.index(n) if n in numbers else -1 for n in range(6)]


def test_rows_that_are_not_there_are_null() -> None:
    table = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert rows(table, np.array([1, -1, 0])).rows() == [(2, None), (None, None), (1, "x")]
    assert rows(table["b"], pl.Series([0, None], dtype=pl.UInt32)).to_list() == ["x", None]
    assert rows(table.clear(), np.array([-1])).rows() == [(None, None)]
    assert rows(table, np.zeros(0, np.int64)).schema == table.schema


def test_what_is_not_known_does_not_hold() -> None:
    condition = pl.Series([True, None, False, True])
    assert where(condition).tolist() == [0, 3]
    assert holds(condition).to_list() == [True, False, False, True]
    table = pl.DataFrame({"a": ["x", "y", None]})
    assert table.filter(among(pl.col("a"), pl.Series(["y", "z"])))["a"].to_list() == ["y"]


def test_looking_up_keeps_all_rows_in_order() -> None:
    frame = pl.DataFrame({"a": [3, 1, 2, 3]})
    table = pl.DataFrame({"a": [1, 3], "b": ["one", "three"]})
    assert looked_up(frame, table, "a")["b"].to_list() == ["three", "one", None, "three"]


def test_a_sum_begins_again() -> None:
    new = np.array([True, False, True, False])
    assert running(np.array([1, 2, 3, 4]), new).tolist() == [1, 3, 3, 7]
