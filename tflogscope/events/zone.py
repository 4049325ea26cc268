"""The zone in which TensorFlow's records of a log print their times."""

from __future__ import annotations

import polars as pl

from tflogscope.events.events import Events

_QUARTER_HOUR = 15 * 60 * 1_000_000  # µs; all zones' offsets are multiples of it


def utc_offset(events: Events) -> int:
    """µs from UTC, in which oneDNN counts, to the time in which the log's records do."""
    times = events.primitives.select("at", "time").drop_nulls()
    if times.is_empty():
        return 0
    before = events.record_times.rename({"time": "record"})
    near = times.join_asof(before, on="at").drop_nulls("record")
    if near.is_empty():
        return 0
    median = (near["record"] - near["time"]).cast(pl.Float64).median()
    assert isinstance(median, float)  # noqa: S101  a column of floats without nulls has a median
    return round(median / _QUARTER_HOUR) * _QUARTER_HOUR
