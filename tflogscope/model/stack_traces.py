"""Time that TensorFlow spends on stack traces for its own log.

From 2.20 on each instantiation writes one at level 1 (core/common_runtime/dynamic_device_mgr.cc,
DynamicDeviceMgr::~DynamicDeviceMgr). Without the log there are none, so this time is not the
program's.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.executions import Executions
from tflogscope.model.once import once

_STRATEGIES: tuple[Literal["backward", "forward"], ...] = ("backward", "forward")


@once
def read_stack_traces(events: Events) -> pl.DataFrame:
    """When stack traces were made, one row each, in the order of the log: at, thread, since, until.

    A record of the classic dialect has the time at which it was written, so the pause is between
    the thread's record before and this one; one of absl's has the time at which it was begun, so
    it is between this one and the next. A log has one of the two: the side where most pauses are
    longer. On the other side there may be anything, as an XLA compilation.
    """
    printed = events.messages("device_manager_dropped").select("at", "time", "thread").sort("at")
    if printed.is_empty():
        empty = pl.Series(dtype=pl.Int64)
        return printed.select("at", "thread", since=empty, until=empty)
    times = events.record_times.rename({"time": "other", "at": "other_at"})
    before, after = (
        printed.join_asof(
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
    both = printed.with_columns(before=before, after=after)
    ahead = (pl.col("time") - pl.col("before")).fill_null(0).median()
    behind = (pl.col("after") - pl.col("time")).fill_null(0).median()
    return both.select(
        "at",
        "thread",
        since=pl.when(ahead >= behind).then("before").otherwise("time"),
        until=pl.when(ahead >= behind).then("time").otherwise("after"),
    ).drop_nulls()


def stack_traces_of_calls(events: Events, executions: Executions) -> pl.DataFrame:
    """Stack traces with what they were made for: at, took_us, call, around.

    Each is of the eager op that its thread dispatches next, for it was made ready then: `call` is
    the call that this op is, or is in; `around` the call whose Python code asked for it.
    """
    eager = executions.eager.select("thread", "call", "dispatch", ran_at="at")
    eager = eager.with_columns(
        around=pl.lit(executions.calls_around).gather(pl.col("dispatch")).cast(pl.UInt32)
    )
    return (
        read_stack_traces(events)
        .join_asof(
            eager.sort("ran_at"),
            left_on="at",
            right_on="ran_at",
            by="thread",
            strategy="forward",
            check_sortedness=False,
        )
        .select(
            "at", "call", "around", took_us=(pl.col("until") - pl.col("since")).cast(pl.Float64)
        )
    )
