"""Calls of graph functions as the program waited for them: from entering to leaving.

A call is entered before its function is made ready (common_runtime/eager/execute.cc, EagerExecute),
so a first call takes much longer than its `Executing op` record and what follows it say.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import Events
from tflogscope.model.executions import Executions
from tflogscope.model.instantiations import Instantiations
from tflogscope.model.intervals import covered_within
from tflogscope.model.names import function_columns
from tflogscope.model.stack_traces import read_stack_traces

Integers = NDArray[np.int64]


def read_calls(events: Events, executions: Executions) -> pl.DataFrame:
    """One row per call, in the order of the log.

    Columns: row (of `Executions.frame`), at, name, function, function_uid, flavour, thread, call,
    begin_at (the line that enters it), begin, executing, end_at, end (µs), took_us (null: no
    end), done (it came to a good end), before_us (where no record enters it, the time since the
    thread's record before), inside (the call whose Python code made it), nested (so, or inside
    another call).
    """
    frame = executions.eager
    eager = executions.dispatches.eager.select("is_call", "name", "entered", "entered_at")
    rows = frame.hstack(eager.select(pl.all().gather(frame["dispatch"]))).filter("is_call")
    rows = rows.with_columns(inside=executions.calls_around.gather(rows["dispatch"]))
    rows = _with_begins(events, rows)
    reached = pl.col("end").cum_max().shift(1).over("thread", order_by="begin_at")
    return rows.select(
        "row",
        "at",
        "name",
        **function_columns(pl.col("name")),
        thread="thread",
        call="call",
        begin_at="begin_at",
        begin="begin",
        executing="time",
        end_at="end_at",
        end="end_time",
        done=pl.col("status") == "done",
        inside="inside",
        before_us="before_us",
    ).with_columns(
        took_us=pl.when(pl.col("end") >= pl.col("begin")).then(pl.col("end") - pl.col("begin")),
        nested=pl.col("inside").is_not_null() | (pl.col("begin") < reached).fill_null(value=False),
    )


def _with_begins(events: Events, calls: pl.DataFrame) -> pl.DataFrame:
    """Add begin, begin_at and before_us of each call.

    Where no record enters a call (before 2.11), it begins with the thread's last record, or the end
    of its call, before the first record that names the function: Python code ran from there on, and
    traced the function.
    """
    known = pl.col("entered").is_not_null()
    if calls["entered"].null_count() == 0:
        return calls.with_columns(
            begin="entered", begin_at="entered_at", before_us=pl.lit(None, pl.Int64)
        )
    names = calls["name"].unique().implode()
    own = pl.concat(
        [
            events.messages(id_)
            .select("at", "time", "thread", name=field)
            .filter(pl.col("name").is_in(names))
            for id_, field in (
                ("eager_input", "op"),
                ("creating_kernel", "op"),
                ("instantiating_function", "function"),
                ("executing_op", "op"),
            )
        ]
    ).sort("at")
    asked = calls.select(
        "row",
        "name",
        "thread",
        "at",
        pl.col("at", "end_time").shift(1).over("thread", order_by="at").name.prefix("before_"),
    ).rename({"before_at": "before"})
    first = (
        asked.with_columns(pl.col("before").fill_null(-1))
        .sort("before")
        .join_asof(
            own.rename({"at": "own_at", "time": "own_time"}),
            left_on="before",
            right_on="own_at",
            by=["thread", "name"],
            strategy="forward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
    )
    records = events.record_times.select("thread", last="time", last_at="at")
    first = first.sort("own_at").join_asof(
        records,
        left_on="own_at",
        right_on="last_at",
        by="thread",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    # Another thread prints the end of a call; Python goes on after it.
    ended = pl.when(pl.col("before_end_time") <= pl.col("own_time")).then("before_end_time")
    last = pl.max_horizontal(pl.coalesce("last", "own_time"), ended)
    found = first.select("row", "own_at", "own_time", last=last)
    joined = calls.join(found, on="row", how="left", maintain_order="left")
    return joined.with_columns(
        begin=pl.when(known).then("entered").otherwise("last"),
        begin_at=pl.when(known).then("entered_at").otherwise("own_at"),
        before_us=pl.when(~known).then(pl.col("own_time") - pl.col("last")),
    )


class Activity:
    """What the records show of each thread's time: eager ops, calls, functions made ready."""

    def __init__(
        self,
        events: Events,
        executions: Executions,
        instantiations: Instantiations,
        calls: pl.DataFrame,
    ) -> None:
        frame = executions.eager
        made = instantiations.spans.select("thread", begin="time", end="end_time")
        ran = [
            frame.select("thread", begin="time", end="end_time"),
            calls.select("thread", "begin", "end"),
        ]
        self._recorded = _by_thread(pl.concat([made, *ran]))
        self._made = _by_thread(made)
        traces = read_stack_traces(events)
        self._traces = _by_thread(traces.select("thread", begin="since", end="until"))

    def recorded_us(self, thread: Integers, since: Integers, until: Integers) -> float:
        """How much of these windows of threads, in µs, records cover; each moment once."""
        return _covered(self._recorded, thread, since, until)

    def made_us(self, thread: Integers, since: Integers, until: Integers) -> float:
        """How much of these windows, in µs, went into making functions and eager ops ready.

        The log's own stack traces are left out.
        """
        traces = _covered(self._traces, thread, since, until)
        return max(_covered(self._made, thread, since, until) - traces, 0.0)


_Spans = dict[object, tuple[Integers, Integers]]


def _by_thread(spans: pl.DataFrame) -> _Spans:
    return {
        thread: (part["begin"].to_numpy(), part["end"].to_numpy())
        for (thread,), part in spans.drop_nulls().group_by("thread")
    }


def _covered(spans: _Spans, thread: Integers, since: Integers, until: Integers) -> float:
    covered = 0
    for each in np.unique(thread):
        if each in spans:
            own = thread == each
            covered += int(covered_within(*spans[each], since[own], until[own]).sum())
    return float(covered)
