"""Eager ops and calls of functions as one row of spans for each thread of the program.

Between two spans the thread ran Python code, or TensorFlow's dispatch of the second one.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.model.frames import holds
from tflogscope.model.without_log import WithoutLog

DISPATCH_US = 300
"""The longest gap before an eager op that is taken as its own: what Python and TensorFlow need to
ask for it, on a CPU that needs 5 µs for a line of the hook (`WithoutLog.python_pace`). A tape that
is played back does so in up to 240 µs, other ops in 20 to 100.
"""
LEAST = 4
"""Times that one span follows another, for it to be of a loop."""
_PAUSE = 10  # a gap so many times as long as half of them are is no step's


def read_spans(ops: pl.DataFrame, calls: pl.DataFrame, without_log: WithoutLog) -> pl.DataFrame:
    """The spans, in the order of their begins on each thread.

    Args:
        ops: eager ops that no call is around: at, end_at, time, end_time, thread, op, cost_us.
        calls: outer calls: begin_at, end_at, begin, end, thread, function, took_us, name.
        without_log: what a window would have taken.

    Columns: thread, at (of `Executing op`), op (of calls the function), is_call, before (the op of
    the span before), after_call (that was a call), since (its end), begin; gap_us (from there on),
    own_us and work_us (wall time, and kernels), all without the log; usual_us: the usual gap of
    these two; python_us: the gap, if they are usually too long for a dispatch; most_us: what a
    dispatch takes at most, or this gap usually; again: of a loop; session (how
    many calls began on the thread).
    """
    called = calls.select(
        "thread",
        "at",
        op="function",
        is_call=True,
        begin_at="begin_at",
        end_at="end_at",
        begin="begin",
        end="end",
        work_us=pl.when(pl.col("name").is_first_distinct())
        .then(pl.col("took_us").median().over("function"))
        .otherwise("took_us")
        .cast(pl.Float64),
    )
    ran = ops.select(
        "thread",
        "at",
        "op",
        is_call=False,
        begin_at="at",
        end_at="end_at",
        begin="time",
        end="end_time",
        work_us=pl.col("cost_us").cast(pl.Float64),
    )
    both = pl.concat([ran, called.cast(ran.schema)]).drop_nulls(["begin", "end"])
    both = both.sort("thread", "begin_at", maintain_order=True)
    before = pl.col("op", "end", "end_at", "is_call").shift().over("thread").name.prefix("last_")
    spans = both.with_columns(before).with_columns(
        last_end=pl.coalesce("last_end", "begin"), last_at=pl.coalesce("last_end_at", "begin_at")
    )
    at, wall = pl.col("begin_at"), pl.col("begin") - pl.col("last_end")
    windows = spans.select("thread", since="last_at", until=at, wall=wall)
    gap = without_log.wall_us(
        windows["thread"], (windows["since"], windows["until"]), windows["wall"]
    )
    inside = spans.select("thread", "begin_at", "end_at", wall=pl.col("end") - pl.col("begin"))
    own = without_log.wall_us(
        inside["thread"], (inside["begin_at"], inside["end_at"]), inside["wall"]
    )
    spans = spans.with_columns(gap_us=np.asarray(gap), own_us=np.asarray(own))
    dispatch = DISPATCH_US * (without_log.python_pace or 1.0)
    usual = pl.col("gap_us").median().over("op", "last_op")
    long = ~pl.col("is_call") & (usual > dispatch)
    return spans.select(
        "thread",
        "at",
        "op",
        "is_call",
        "begin",
        "gap_us",
        "work_us",
        before="last_op",
        usual_us=usual,
        after_call=holds(pl.col("last_is_call")),
        since="last_end",
        own_us=pl.when("is_call").then("work_us").otherwise("own_us"),
        python_us=pl.when(long).then("gap_us").otherwise(0.0),
        most_us=usual.clip(dispatch),
        again=holds(
            (pl.len().over("op", "last_op") >= LEAST)
            & (pl.col("gap_us") <= _PAUSE * usual.clip(dispatch))
        ),
        session=pl.col("is_call").cast(pl.Int64).cum_sum().over("thread"),
    )
