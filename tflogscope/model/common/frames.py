"""Words for what rules do with frames: look up, take rows, find what was before.

Numbers of rows are NumPy's, -1 where there is none. Keys are the columns of a frame, such as
`runs[["function", "handle"]]`: their order counts, their names don't, and nulls are equal. No
function here changes the order of rows. polars runs no plan for those that work on numbers of rows,
except for one to encode each key column of strings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
_Column = TypeVar("_Column", pl.Expr, pl.Series)
_Table = TypeVar("_Table", pl.DataFrame, pl.Series)


def rows(table: _Table, numbers: Integers | pl.Series) -> _Table:
    """The rows of a table with these numbers; nulls where there is none (-1 or null)."""
    if isinstance(numbers, np.ndarray):
        if len(numbers) == len(table) and (numbers == np.arange(len(numbers))).all():
            return table  # all of them: a copy would take memory
        numbers = pl.Series(numbers)
    numbers = numbers.cast(pl.UInt32, strict=False)
    if isinstance(table, pl.Series):
        return table[numbers]
    # All columns at once would wait for a thread of polars' pool.
    return pl.DataFrame([column[numbers] for column in table.get_columns()])


def where(condition: pl.Series) -> Integers:
    """The numbers of the rows for which a condition holds; it doesn't where it is null."""
    return pl.int_range(len(condition), eager=True).filter(condition).to_numpy()


def only(table: _Table, condition: pl.Series) -> _Table:
    """The rows of a table for which a condition holds; it doesn't where it is null."""
    if isinstance(table, pl.Series):
        return table.filter(condition)
    if condition.all(ignore_nulls=False):
        return table  # all of them: a copy would take memory
    # All columns at once would wait for a thread of polars' pool.
    return pl.DataFrame([column.filter(condition) for column in table.get_columns()])


def is_among(numbers: pl.Series, wanted: pl.Series | Integers | Sequence[int]) -> pl.Series:
    """Whether each number is one of these; null isn't."""
    among = pl.lit(pl.Series(wanted).cast(numbers.dtype, strict=False)).implode()
    # One plan: each method of a series is one of its own.
    return pl.select(holds(pl.lit(numbers).is_in(among))).to_series()


def holds(condition: _Column) -> _Column:
    """A condition that is false where it isn't known."""
    known = isinstance(condition, pl.Series) and not condition.null_count()  # type: ignore[redundant-expr]  # or a plan
    return condition if known else condition.fill_null(value=False)


def first_case(cases: Mapping[str, pl.Expr], otherwise: str | None = None) -> pl.Expr:
    """The name of the first condition that holds."""
    named = (pl.when(condition).then(pl.lit(name)) for name, condition in cases.items())
    return pl.coalesce(*named, pl.lit(otherwise, pl.String))


def among(column: pl.Expr, values: pl.Series) -> pl.Expr:
    """Whether a column's value is one of these."""
    return column.is_in(pl.lit(values).implode())


def looked_up(
    frame: pl.DataFrame, table: pl.DataFrame, on: str | list[str], *, nulls_equal: bool = False
) -> pl.DataFrame:
    """The frame with the other columns of a table that has each value of `on` once at most.

    Columns are null where the table has no such row.
    """
    return frame.join(table, on=on, how="left", maintain_order="left", nulls_equal=nulls_equal)


def first_of_each(frame: pl.DataFrame, keys: str | list[str]) -> pl.DataFrame:
    """The first row of each key."""
    return frame.unique(keys, keep="first", maintain_order=True)


def filled(column: pl.Series, missing: int = -1) -> Integers:
    """A column of whole numbers below 2^53, with a number where it has none."""
    values = column.to_numpy()
    if not column.null_count():
        return values.astype(np.int64)
    unknown = np.isnan(values)
    return np.where(unknown, missing, np.where(unknown, 0, values).astype(np.int64))


def first_with(numbers: Integers, height: int) -> Integers:
    """For each of `height` rows the place in `numbers` that has its number first; -1: none has."""
    first = np.full(height + 1, -1)  # the last place is that of the numbers -1
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return first[:-1]


def alike(*frames: pl.DataFrame) -> list[Integers]:
    """Number the keys of frames: those that are equal, and no others, have the same number."""
    columns = [_integers(column) for column in zip(*frames, strict=True)]
    number = columns[0]
    if len(columns) > 1:
        order = np.lexsort(columns)
        number[order] = np.cumsum(begins(*(column[order] for column in columns)))
    return np.split(number, np.cumsum([frame.height for frame in frames])[:-1])


def places_and_keys(*frames: pl.DataFrame) -> tuple[Integers, Integers]:
    """The first columns of all frames, and numbers of the keys that the others are (`alike`)."""
    place = np.concatenate([frame[:, 0].to_numpy() for frame in frames])
    if frames[0].width == 1:
        return place, np.zeros_like(place)
    return place, np.concatenate(alike(*(frame[:, 1:] for frame in frames)))


def begins(*columns: Integers) -> Booleans:
    """Which rows of columns that are sorted have another value than the row before."""
    new = np.zeros(len(columns[0]) if columns else 0, bool)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return new


def ranks(*keys: NDArray[np.generic]) -> Integers:
    """The place of each row in the order of its keys, of which the last one goes first."""
    place = np.empty(len(keys[0]), np.int64)
    place[np.lexsort(keys)] = np.arange(len(place))
    return place


def ranges(first: Integers, count: Integers) -> tuple[Integers, Integers]:
    """For each row so many places from its first one on: the row, and the place."""
    row = np.repeat(np.arange(len(count)), count)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(count) - count - first, count)


def running(values: NDArray[np.generic], new: Booleans) -> Integers:
    """The sum of values from the last row that is `new` on."""
    total = np.cumsum(values)
    first = np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
    return np.array(total - (total - values)[first], np.int64)


def _integers(columns: Sequence[pl.Series]) -> Integers:
    """A number for each value of columns, which is not that of another one."""
    if all(column.dtype.is_integer() and not column.null_count() for column in columns):
        return np.concatenate([column.to_numpy().astype(np.int64) for column in columns])
    texts = pl.concat([column.cast(pl.String) for column in columns])
    codes = texts.cast(pl.Categorical).to_physical().to_numpy()
    return np.array(np.nan_to_num(codes, nan=-1), np.int64) + 1


def row_with(left: pl.DataFrame, table: pl.DataFrame) -> Integers:
    """For each row of `left` the first row of `table` with the same keys; -1: none has them."""
    keys = [frame[:, 0] for frame in (left, table) if frame.width == 1]
    numbers = keys and all(key.dtype.is_integer() and not key.null_count() for key in keys)
    if numbers and keys[1].is_sorted():  # a large table is not copied
        asked, values = (key.to_numpy() for key in keys)
        place = np.searchsorted(values, asked)
        same = np.append(values, -1)[place] == asked
        return np.where(same & (place < len(values)), place, -1)
    mine, its = alike(left, table)
    values, first = np.unique(its, return_index=True)
    place = np.searchsorted(values, mine)
    same = np.append(values, -1)[place] == mine
    return np.where(same, np.append(first, -1)[place], -1)


def last_before(left: pl.DataFrame, table: pl.DataFrame) -> Integers:
    """For each row of `left` the last row of `table` before it with the same keys; -1: none.

    The first column of both is the place in the log, the others are the keys. Rows may be in any
    order, and a row at the same place is not before it.
    """
    return _nearest(left, table, 1)


def first_after(left: pl.DataFrame, table: pl.DataFrame) -> Integers:
    """For each row of `left` the first row of `table` after it: see `last_before`."""
    return _nearest(left, table, -1)


def _nearest(left: pl.DataFrame, table: pl.DataFrame, sign: int) -> Integers:
    nearest = np.full(left.height, -1)
    if left.is_empty() or table.is_empty():
        return nearest
    if left.width == 1 and table[:, 0].is_sorted():  # a large table is not copied
        places, asked = (frame[:, 0].to_numpy() for frame in (table, left))
        row = np.searchsorted(places, asked, "left" if sign == 1 else "right") - (sign == 1)
        return np.where(row < len(places), row, -1)
    place, key = places_and_keys(left, table)
    order = np.lexsort((sign * place, key))  # what is asked for comes first at the same place
    is_asked = order < left.height
    last = np.maximum.accumulate(np.where(is_asked, -1, np.arange(len(order))))
    row = order[last]  # wrong where last is -1, or of another key
    matched = is_asked & (last >= 0) & (key[row] == key[order])
    nearest[order[matched]] = row[matched] - left.height
    return nearest
