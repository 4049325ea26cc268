"""Eager dispatches: one-op executions and calls of graph functions, with their ends.

core/common_runtime/eager/execute.cc, EagerLocalExecute prints `Executing op`; what it dispatched
is then run by core/common_runtime/process_function_library_runtime.cc, which prints a line per
component before and after.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.instantiations import Instantiations
from tflogscope.model.names import (
    WRAPPED,
    is_function,
    op_of_kernel,
    rewrite_of_kernel,
    wrapped_op,
)
from tflogscope.model.pairing import match_in_order, match_nested


@dataclass(frozen=True)
class Dispatches:
    """`eager`: one row per `Executing op`; `runs`: one row per `Running component function`.

    eager: at, time, end_at, end_time, thread, name (as printed), device, is_call, call, op,
    kernel, rewrite, status; of calls entered_at, entered (when the call was entered, before the
    function was made ready; null: not printed). runs: at, end_at, function, device, handle, thread,
    dispatch (row of `eager`, -1: a function called inside another).
    """

    eager: pl.DataFrame
    runs: pl.DataFrame

    @property
    def calls(self) -> pl.DataFrame:
        """Rows of `eager` that dispatch a graph function."""
        return self.eager.filter("is_call")

    def with_ends_of(self, steps: pl.DataFrame) -> Dispatches:
        """Give calls whose thread is not known the ends in the order in which their `steps` ended.

        The lines at the end of several calls of one function at once say nothing else.
        """
        last = steps.drop_nulls("call").group_by("call").agg(pl.col("last_at").max())
        calls = self.eager.filter((pl.col("thread") < 0) & pl.col("end_at").is_not_null()).join(
            last, on="call"
        )
        ends = calls.select(
            "name", "end_at", "end_time", rank=pl.col("end_at").rank("ordinal").over("name")
        )
        ordered = calls.select(
            "dispatch", "at", "name", rank=pl.col("last_at").rank("ordinal").over("name")
        ).join(ends, on=["name", "rank"])
        ordered = ordered.filter((pl.col("end_at") > pl.col("at")).all().over("name"))
        ends_of = ordered.select("dispatch", "end_at", "end_time")
        return replace(self, eager=self.eager.update(ends_of, on="dispatch"))


def read_dispatches(events: Events, instantiations: Instantiations) -> Dispatches:
    """Read all dispatches with the components they ran, their ends and their kernels."""
    executing = events.messages("executing_op").select("at", "time", "thread", "device", name="op")
    called = events.messages("entering_call")["op"]
    functions = pl.concat([instantiations.functions, called]).unique()
    executing = executing.with_columns(
        is_call=is_function(pl.col("name")) | pl.col("name").is_in(functions.implode())
    )
    executing = _with_entries(events, executing)
    runs = _runs_with_ends(events)
    runs = runs.with_columns(dispatch=pl.Series(_dispatch_of_runs(executing, runs)))
    eager = _with_ends(events, executing, runs)
    eager = _with_kernels(eager, runs, instantiations)
    number = pl.col("is_call").cum_sum().cast(pl.UInt32) - 1
    eager = eager.with_columns(call=pl.when("is_call").then(number))
    return Dispatches(eager, runs)


def _with_entries(events: Events, executing: pl.DataFrame) -> pl.DataFrame:
    """Add when each call was entered: execute.cc, EagerExecute (from 2.11 on)."""
    entering = events.messages("entering_call").select("at", "time", "thread", name="op")
    calls = executing.with_row_index("row").filter("is_call").select("row", "at", "thread", "name")
    found = match_in_order(entering, calls, ["name", "thread"])
    known = pl.Series(found).set(pl.Series(found < 0), None)
    entered = calls.select(
        "row", entered_at=entering["at"].gather(known), entered=entering["time"].gather(known)
    )
    joined = executing.with_row_index("row").join(
        entered, on="row", how="left", maintain_order="left"
    )
    return joined.drop("row")


def _runs_with_ends(events: Events) -> pl.DataFrame:
    runs = events.messages("running_component").select(
        "at", "time", "thread", "function", "device", "handle"
    )
    named = _ends(events, "component_succeeded", "component_failed")
    row = match_in_order(runs, named, ["function", "handle"])
    runs = _join_ends(runs, named, row)
    # The synchronous path names nobody: its end closes the last run still open on that thread.
    has_name = pl.struct("function", "handle").is_in(
        named.select(pl.struct("function", "handle").implode()).to_series()
    )
    open_rows = runs.with_row_index("row").filter(pl.col("end_at").is_null() & ~has_name)
    unnamed = _ends(events, "component_succeeded_sync", "component_failed_sync")
    nested = events.has_threads or bool((runs["function"].str.contains("EagerPyFunc")).any())
    if not nested:
        # A kernel that fails mostly does so before it computes: of several, the last that began.
        failed = unnamed.filter("failed").join_asof(
            open_rows.select("at", row=pl.col("row").cast(pl.Int64)), on="at"
        )
        runs = _join_ends(runs, failed, failed["row"].fill_null(-1).to_numpy())
        open_rows = open_rows.filter(~pl.col("row").is_in(failed["row"].implode()))
        unnamed = unnamed.filter(~pl.col("failed"))
    found, _ = match_nested(open_rows, unnamed, nested)
    row = np.full(unnamed.height, -1, np.int64)
    closed = found >= 0
    row[found[closed]] = open_rows["row"].to_numpy()[closed]
    return _join_ends(runs, unnamed, row)


def _ends(events: Events, succeeded: str, failed: str) -> pl.DataFrame:
    return events.messages(succeeded, failed).with_columns(failed=pl.col("id") == failed)


def _join_ends(runs: pl.DataFrame, ends: pl.DataFrame, row: np.ndarray) -> pl.DataFrame:
    """Give each run the end whose `row` names it, where it has none yet."""
    known = ends.select(
        row=pl.Series(row), found_at="at", found_time="time", found_failed="failed"
    ).filter(pl.col("row") >= 0)
    known = known.unique("row", keep="first", maintain_order=True)
    if "end_at" not in runs.columns:
        runs = runs.with_columns(
            end_at=pl.lit(None, pl.Int64),
            end_time=pl.lit(None, pl.Int64),
            failed=pl.lit(None, pl.Boolean),
        )
    joined = runs.with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64)).join(
        known, on="row", how="left", maintain_order="left"
    )
    return joined.with_columns(
        end_at=pl.coalesce("end_at", "found_at"),
        end_time=pl.coalesce("end_time", "found_time"),
        failed=pl.coalesce("failed", "found_failed"),
    ).drop("row", "found_at", "found_time", "found_failed")


def _dispatch_of_runs(executing: pl.DataFrame, runs: pl.DataFrame) -> np.ndarray:
    """Return for each run the dispatch it carries out: by name, and by thread where that is known.

    In asynchronous eager mode a thread of its own runs what others dispatch.
    """
    named = runs.with_columns(name=pl.coalesce(wrapped_op(pl.col("function")), "function"))
    own = runs["thread"].is_in(executing["thread"].unique().implode()).all()
    keys = ["name", "thread"] if own else ["name"]
    return match_in_order(executing, named, keys)


def _with_ends(events: Events, executing: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    ends = (
        runs.filter(pl.col("dispatch") >= 0)
        .group_by("dispatch")
        .agg(
            run_at=pl.col("at").min(),
            end_at=pl.col("end_at").max(),
            end_time=pl.col("end_time").max(),
            failed=pl.col("failed").any(),
            open=pl.col("end_at").is_null().any(),
        )
        .with_columns(pl.when(~pl.col("open")).then(pl.col("end_at", "end_time")))
    )
    eager = executing.with_columns(dispatch=pl.int_range(pl.len(), dtype=pl.Int64)).join(
        ends, on="dispatch", how="left", maintain_order="left"
    )
    # A compiled function has no component: only the dispatch itself says when it is over.
    leaving = events.messages("exiting_call").select("at", "time", "thread", "status", name="op")
    row = match_in_order(eager, leaving, ["name", "thread"])
    left = leaving.select(
        dispatch=pl.Series(row),
        exit_at="at",
        exit_time="time",
        exit_failed=pl.col("status") != "OK",
    ).filter(pl.col("dispatch") >= 0)
    left = left.unique("dispatch", keep="first", maintain_order=True)
    eager = eager.join(left, on="dispatch", how="left", maintain_order="left")
    # Components end on threads of the pool, and no record says which of several calls of one
    # function an end belongs to; the line at the end of the dispatch is the calling thread's.
    # In asynchronous mode it comes before the run.
    own = pl.when(pl.col("exit_at") > pl.col("run_at"))
    eager = eager.with_columns(
        end_at=pl.coalesce(own.then("exit_at"), "end_at", "exit_at"),
        end_time=pl.coalesce(own.then("exit_time"), "end_time", "exit_time"),
        failed=pl.col("failed").fill_null(False) | pl.col("exit_failed").fill_null(False),
    )
    # Before 2.11 only its component says when a call is over; compiled as a whole, it has none.
    silent = pl.col("is_call") & pl.col("run_at").is_null() & pl.lit(leaving.is_empty())
    prints_ends = pl.col("end_at").is_not_null().any().over("is_call") & ~silent
    status = (
        pl.when("failed")
        .then(pl.lit("failed"))
        .when(pl.col("end_at").is_not_null())
        .then(pl.lit("done"))
        .when(prints_ends)
        .then(pl.lit("unfinished"))
        .otherwise(pl.lit("unknown"))
    )
    return eager.with_columns(status=status, exit="exit_at").drop(
        "exit_at", "run_at", "failed", "open", "exit_time", "exit_failed"
    )


def _with_kernels(
    eager: pl.DataFrame, runs: pl.DataFrame, instantiations: Instantiations
) -> pl.DataFrame:
    """Add op, kernel and rewrite: by the eager registry (`_MklX`, `_ZenX`) or inside the wrap."""
    components = instantiations.components.select("handle", "span", made="at").sort("made")
    wrapped = runs.filter(pl.col("function").str.contains(WRAPPED) & (pl.col("dispatch") >= 0))
    inside = (
        wrapped.select("at", "handle", "dispatch")
        .sort("at")
        .join_asof(components, left_on="at", right_on="made", by="handle", check_sortedness=False)
        .join(instantiations.wrapped_kernels.drop("at"), on="span", how="inner")
        .unique("dispatch", keep="first")
    )
    eager = eager.join(
        inside.select("dispatch", inside="kernel"), on="dispatch", how="left", maintain_order="left"
    )
    by_registry = pl.col("name").str.starts_with("_Mkl")
    by_plugin = rewrite_of_kernel(pl.col("name"))
    by_wrap = ~by_registry & pl.col("inside").str.starts_with("_Mkl").fill_null(False)
    return eager.with_columns(
        op=op_of_kernel(pl.col("name")),
        kernel=pl.when(by_wrap).then("inside").otherwise("name"),
        rewrite=pl.when(by_registry)
        .then(pl.lit("eager"))
        .when(by_wrap)
        .then(pl.lit("wrapped"))
        .otherwise(by_plugin),
    ).drop("inside")
