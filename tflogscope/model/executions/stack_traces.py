"""Time that TensorFlow spends on stack traces for its own log.

From 2.20 on each instantiation writes one at level 1 (core/common_runtime/dynamic_device_mgr.cc,
DynamicDeviceMgr::~DynamicDeviceMgr). Without the log there are none, so this time is not the
program's.
"""

from __future__ import annotations

import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.common.frames import first_after, last_before, rows
from tflogscope.model.common.once import once
from tflogscope.model.executions.executions import Executions


@once
def read_stack_traces(events: Events) -> pl.DataFrame:
    """When stack traces were made, one row each, in the order of the log: at, thread, since, until.

    A record of the classic dialect has the time at which it was written, so the pause is between
    the thread's record before and this one; one of absl's has the time at which it was begun, so
    it is between this one and the next. A log has one of the two: the side where most pauses are
    longer. On the other side there may be anything, as an XLA compilation.
    """
    keys = ["at", "thread"]
    printed = events.messages("device_manager_dropped")[[*keys, "time"]]
    if printed.is_empty():
        return pl.DataFrame(schema=dict.fromkeys((*keys, "since", "until"), pl.Int64))
    times = events.records_on(printed["thread"].unique().to_numpy())
    before, after = (
        rows(times["time"], beside(printed[keys], times[keys]))
        for beside in (last_before, first_after)
    )
    ahead = (pl.col("time") - before).fill_null(0).median()
    behind = (after - pl.col("time")).fill_null(0).median()
    return printed.select(
        *keys,
        since=pl.when(ahead >= behind).then(before).otherwise("time"),
        until=pl.when(ahead >= behind).then("time").otherwise(after),
    ).drop_nulls()


def stack_traces_of_calls(events: Events, executions: Executions) -> pl.DataFrame:
    """Stack traces with what they were made for: at, took (µs), call, around.

    Each is of the eager op that its thread dispatches next, for it was instantiated then: `call` is
    the call that this op is, or is in; `around` the call whose Python code asked for it.
    """
    traces, eager = read_stack_traces(events), executions.eager
    following = first_after(traces[["at", "thread"]], eager[["at", "thread"]])
    of = eager[["call"]].hstack([executions.calls_around.alias("around")])
    took = (traces["until"] - traces["since"]).cast(pl.Float64).alias("took")
    return traces[["at"]].hstack([*rows(of, following), took])
