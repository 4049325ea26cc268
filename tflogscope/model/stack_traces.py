"""Time that TensorFlow spends on stack traces for its own log.

From 2.20 on each instantiation writes one at level 1 (core/common_runtime/dynamic_device_mgr.cc,
DynamicDeviceMgr::~DynamicDeviceMgr). Without the log there are none, so this time is not the
program's.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.once import once

_STRATEGIES: tuple[Literal["backward", "forward"], ...] = ("backward", "forward")


@once
def read_stack_traces(events: Events) -> pl.DataFrame:
    """When stack traces were made, one row each, in the order of the log: at, thread, since, until.

    A record of the classic dialect has the time at which it was written, so the pause is between
    the thread's record before and this one; one of absl's has the time at which it was begun, so
    it is between this one and the next. The pause is the longer one.
    """
    told = events.messages("device_manager_dropped").select("at", "time", "thread").sort("at")
    if told.is_empty():
        empty = pl.Series(dtype=pl.Int64)
        return told.select("at", "thread", since=empty, until=empty)
    times = events.record_times.rename({"time": "other", "at": "other_at"})
    before, after = (
        told.join_asof(
            times,
            left_on="at",
            right_on="other_at",
            by="thread",
            strategy=strategy,
            allow_exact_matches=False,
            check_sortedness=False,
        )["other"]
        for strategy in _STRATEGIES
    )
    both = told.with_columns(before=before, after=after)
    ahead = (pl.col("time") - pl.col("before")).fill_null(0)
    behind = (pl.col("after") - pl.col("time")).fill_null(0)
    return both.select(
        "at",
        "thread",
        since=pl.when(ahead >= behind).then("before").otherwise("time"),
        until=pl.when(ahead >= behind).then("time").otherwise("after"),
    ).drop_nulls()
