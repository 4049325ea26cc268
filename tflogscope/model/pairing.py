"""Which record ends what another began."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


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


def match_in_order(first: pl.DataFrame, second: pl.DataFrame, keys: list[str]) -> NDArray[np.int64]:
    """Return for each row of `second` the row of `first` it follows from, -1: none.

    Both have `at` and the key columns, sorted by `at`. Where a key has as many rows in both, the
    n-th belongs to the n-th (several threads at once); else a row belongs to the last one before
    it with its key.
    """
    if first.is_empty() or second.is_empty():
        return np.full(second.height, -1, np.int64)
    one = first.select(*keys, "at").with_row_index("one").with_columns(pl.col("one").cast(pl.Int64))
    two = second.select(*keys, "at").with_row_index("two")
    rank = pl.int_range(pl.len()).over(keys).alias("rank")
    count = pl.len().over(keys).alias("count")
    ranked = two.with_columns(rank, count).join(
        one.with_columns(rank, count).rename({"at": "one_at"}),
        on=[*keys, "rank", "count"],
        how="left",
        nulls_equal=True,
    )
    ranked = ranked.with_columns(one=pl.when(pl.col("one_at") < pl.col("at")).then("one")).sort(
        "two"
    )
    # One pair the wrong way round in time says that a record is lost: no rank of that key is sure.
    broken = pl.col("one").is_null().any().over(keys)
    last = two.sort("at").join_asof(
        one.sort("at"), on="at", by=keys, strategy="backward", check_sortedness=False
    )
    chosen = ranked.with_columns(broken=broken).join(
        last.select("two", last="one"), on="two", how="left", maintain_order="left"
    )
    pick = pl.when(pl.col("broken")).then("last").otherwise("one").fill_null(-1)
    return chosen.select(pick).to_series().to_numpy().astype(np.int64)


def match_nested(
    starts: pl.DataFrame, ends: pl.DataFrame, nested: bool
) -> tuple[NDArray[np.int64], int]:
    """Return for each start the row of the end that closes it, -1: none, and ends left over.

    Both have `at` and `thread` (-1: not printed). On one thread spans nest; where threads are not
    printed and nothing nests, the first opened is taken as the first closed.
    """
    result = np.full(starts.height, -1, np.int64)
    if starts.is_empty() or ends.is_empty():
        return result, ends.height
    both = pl.concat(
        [
            starts.select("at", "thread", change=pl.lit(1, pl.Int64)).with_row_index("row"),
            ends.select("at", "thread", change=pl.lit(-1, pl.Int64)).with_row_index("row"),
        ]
    ).sort("at", maintain_order=True)
    depth = pl.col("change").cum_sum().over("thread")
    both = both.with_columns(level=pl.when(pl.col("change") > 0).then(depth).otherwise(depth + 1))
    by = ["thread", "level"] if nested else ["thread"]
    rank = pl.int_range(pl.len()).over([*by, "change"])
    both = both.with_columns(rank=rank)
    opened = both.filter(pl.col("change") > 0)
    closed = both.filter(pl.col("change") < 0)
    if nested:
        follower = closed.select("thread", "level", "at", end="row").sort("at")
        pairs = opened.sort("at").join_asof(
            follower, on="at", by=["thread", "level"], strategy="forward", check_sortedness=False
        )
        pairs = pairs.unique("end", keep="last", maintain_order=True)
    else:
        pairs = opened.join(
            closed.select(*by, "rank", end="row", end_at="at"), on=[*by, "rank"], how="inner"
        ).filter(pl.col("end_at") > pl.col("at"))
    pairs = pairs.drop_nulls("end")
    result[pairs["row"].to_numpy()] = pairs["end"].to_numpy()
    return result, ends.height - pairs.height
