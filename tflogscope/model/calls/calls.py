"""Calls of graph functions as the program waited for them: from entering to leaving.

A call is entered before its function is instantiated (common_runtime/eager/execute.cc,
EagerExecute), so a first call takes much longer than its `Executing op` record and what follows it
say.
"""

from __future__ import annotations

import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.common.frames import among, first_after, holds, last_before, rows, where
from tflogscope.model.common.names import function_columns
from tflogscope.model.executions.executing import read_executing
from tflogscope.model.executions.executions import Executions
from tflogscope.model.executions.servers import serves


def read_calls(events: Events, executions: Executions) -> pl.DataFrame:
    """One row per call, in the order of the log.

    Columns: row (of `Executions.frame`), at, name, function, function_uid, flavour, thread, call,
    begin_at (the line that enters it), begin, executing, end_at, end (µs), duration_us (null: no
    end), status, before (where no record enters it, the time since the
    thread's record before), inside (the call whose Python code made it), nested (so, or inside
    another call).
    """
    dispatched = executions.dispatches.eager
    called = where(dispatched["is_call"])
    calls = rows(executions.eager, called).hstack(
        [
            *rows(dispatched[["name", "entered", "entered_at"]], called),
            executions.calls_around[called].alias("inside"),
        ]
    )
    begin, end = pl.col("begin"), pl.col("end_time")
    reached = end.cum_max().shift(1).over("thread", order_by="begin_at")
    return _with_begins(events, calls).select(
        *("row", "at", "name", "thread", "call", "begin_at", "begin", "end_at"),
        *("inside", "before"),
        **function_columns(pl.col("name")),
        executing="time",
        end="end_time",
        status=pl.col("status").cast(pl.String),
        duration_us=pl.when(end >= begin).then(end - begin),
        nested=pl.col("inside").is_not_null() | holds(begin < reached),
    )


def _with_begins(events: Events, calls: pl.DataFrame) -> pl.DataFrame:
    """Add begin, begin_at and before of each call.

    Where no record enters a call (before 2.11), it begins with the thread's last record, or the end
    of its call, before the first record that names the function: Python code ran from there on, and
    traced the function. In a server it begins with that record.
    """
    if calls["entered"].null_count() == 0:
        return calls.with_columns(
            begin="entered", begin_at="entered_at", before=pl.lit(None, pl.Int64)
        )
    named = [
        events.messages(id_).select("at", "thread", "time", name=field)
        for id_, field in (
            ("eager_input", "op"),
            ("creating_kernel", "op"),
            ("instantiating_function", "function"),
        )
    ]
    named.append(read_executing(events).select("at", "thread", "time", "name"))
    mentions = pl.concat(named).filter(among(pl.col("name"), calls["name"].unique()))
    keys = ["thread", "name"]
    before = pl.col("at", "end_time").shift(1).over("thread", order_by="at").name.prefix("before_")
    previous = calls.select(*keys, before).with_columns(pl.col("before_at").fill_null(-1))
    first = rows(
        mentions.select(own="time", own_at="at"),
        first_after(previous[["before_at", *keys]], mentions[["at", *keys]]),
    ).with_columns(pl.col("own_at").fill_null(-1))
    records = events.records_on(calls["thread"].unique().to_numpy())
    last = last_before(first[["own_at"]].hstack(calls[["thread"]]), records[["at", "thread"]])
    entered = pl.col("entered").is_not_null()
    # Another thread prints the end of a call; Python goes on after it.
    ended = pl.when(pl.col("before_end_time") <= pl.col("own")).then("before_end_time")
    since = pl.max_horizontal(pl.coalesce(rows(records["time"], last), "own"), ended)
    if serves(events):  # another process asked
        since = pl.col("own")
    return calls.hstack([*first, previous["before_end_time"]]).with_columns(
        begin=pl.when(entered).then("entered").otherwise(since),
        begin_at=pl.when(entered).then("entered_at").otherwise(pl.col("own_at").replace(-1, None)),
        before=pl.when(~entered).then(pl.col("own") - since),
    )
