"""Eager dispatches: one-op executions and calls of graph functions, with their ends.

core/common_runtime/eager/execute.cc, EagerLocalExecute prints `Executing op`; what it dispatched
is then run by core/common_runtime/process_function_library_runtime.cc, which prints a line per
component before and after.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from tflogscope.errors import InputError
from tflogscope.events.events import Events
from tflogscope.model.common.frames import (
    Integers,
    alike,
    among,
    first_case,
    first_with,
    holds,
    last_before,
    looked_up,
    row_with,
    rows,
    where,
)
from tflogscope.model.common.names import (
    MESH,
    PYTHON_OP,
    WRAPPED,
    is_function,
    is_part,
    on_mesh,
    op_of_kernel,
    rewrite_of_kernel,
    wrapped_op,
)
from tflogscope.model.common.pairing import match_in_order, match_nested
from tflogscope.model.executions.executing import read_executing
from tflogscope.model.executions.instantiations import Instantiations

_MOST_OPS = 1 << 16  # framework/op.h: each is registered in the program; 2.20 has some 1,600


class Dispatches(NamedTuple):
    """`eager`: one row per `Executing op`; `runs`: one row per `Running component function`.

    eager: at, time, end_at, end_time, exit (the line at the end of a call), thread, name (as
    printed), device, remote (another task runs it), mesh (all devices of one run it), is_call,
    call, dispatch (the row), op, kernel, rewrite, status; of calls entered_at, entered (when the
    call was entered, before the function was instantiated; null: not printed). runs: at, time,
    end_at, end_time, failed, function, device, handle, thread, dispatch (row of `eager`, -1: a
    function called inside another), component (row of `Instantiations.components`, -1: not
    printed).
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
        eager = self.eager
        steps = steps[["call", "last_at"]].drop_nulls()
        last = np.full(eager["call"].count(), -1)
        np.maximum.at(last, steps["call"].to_numpy(), steps["last_at"].to_numpy())
        last_of = rows(pl.Series(last, dtype=pl.Int64), eager["call"])
        row = where((eager["thread"] < 0) & (eager["end_at"] >= 0) & (last_of >= 0))
        (name,) = alike(rows(eager[["name"]], row))
        at, end = (eager[column][row].to_numpy() for column in ("at", "end_at"))
        ran, ended = np.lexsort((last_of[row].to_numpy(), name)), np.lexsort((end, name))
        # An end before its call says that one is lost: no end of that function is sure.
        sure = ~np.isin(name[ran], name[ran][end[ended] <= at[ran]])
        order = np.arange(eager.height)
        order[row[ran[sure]]] = row[ended[sure]]
        ends = rows(eager[["end_at", "end_time"]], order)
        return self._replace(eager=eager.with_columns(ends.get_columns()))


def read_dispatches(events: Events, instantiations: Instantiations) -> Dispatches:
    """Read all dispatches with the components they ran, their ends and their kernels."""
    entering = events.messages("entering_call")
    functions = pl.concat([instantiations.functions, entering["op"]])
    mesh = pl.col("name").str.contains(MESH)
    called = among(pl.col("name"), functions) & ~mesh
    executing = _once_on_a_mesh(read_executing(events)).with_columns(
        is_call=is_function(pl.col("name")) | called, mesh=mesh
    )
    named = executing["name"].filter(~executing["is_call"]).n_unique()
    if named > _MOST_OPS:
        problem = f"its records name {named:,} ops, and {_MOST_OPS:,} is the limit"
        hint = "TensorFlow registers some 2,000. This is not its log, or it is damaged."
        raise InputError(problem, events.spans[0].name, hint)
    runs, components = _runs_with_ends(events), instantiations.components
    # A service of tf.data within the process has a runtime with handles of its own.
    of_handle, of_function = (
        last_before(runs[keys], components[keys])
        for keys in (["at", "handle"], ["at", "handle", "function"])
    )
    component = np.where(of_function < 0, of_handle, of_function)
    runs = runs.hstack(
        [
            pl.Series("dispatch", _dispatch_of_runs(executing, runs)),
            pl.Series("component", component),
        ]
    )
    # execute.cc, EagerExecute (from 2.11 on)
    entry = match_in_order(entering[["at", "op", "thread"]], executing[["at", "name", "thread"]])
    entered = rows(entering[["at", "time"]], entry)
    eager = _with_ends(events, executing, runs).with_columns(
        entered_at=entered["at"],
        entered=entered["time"],
        inside=_kernels_inside(runs, instantiations, executing.height),
    )
    return Dispatches(_with_kernels(eager), runs)


def _once_on_a_mesh(executing: pl.DataFrame) -> pl.DataFrame:
    """Dispatches, those of DTensor once for all devices of the mesh."""
    number = _number_on_device(executing["name"], executing["device"])
    first = executing.select(pl.struct("name", number=number).is_first_distinct()).to_series()
    return executing.filter(~executing["name"].str.contains(MESH) | first)


def _number_on_device(name: pl.Series, device: pl.Series) -> pl.Series:
    """How many of this name were on its device before."""
    frame = pl.DataFrame([name.alias("name"), device.alias("device")])
    return frame.select(number=pl.int_range(pl.len()).over("name", "device"))["number"]


def _runs_with_ends(events: Events) -> pl.DataFrame:
    """The runs of components, each with the end_at, end_time and failed of its end."""
    runs = events.messages("running_component")
    named = _ends(events, "component_succeeded", "component_failed")
    unnamed = _ends(events, "component_succeeded_sync", "component_failed_sync")
    keys = ["at", "function", "handle"]
    end = first_with(match_in_order(runs[keys], named[keys]), runs.height)
    if unnamed.height:
        # The synchronous path names nobody: its end closes the last run still open on that thread.
        of_runs, of_ends = alike(runs[keys[1:]], named[keys[1:]])
        is_open = np.flatnonzero((end < 0) & ~np.isin(of_runs, of_ends))
        nested = events.has_threads or runs["function"].str.contains(PYTHON_OP).any()
        for open_run, row in _close_unnamed(runs, unnamed, is_open, nested=nested):
            end[open_run] = row + named.height
    ends = pl.concat([table[["at", "time", "failed"]] for table in (named, unnamed)])
    ends = rows(ends, end).rename({"at": "end_at", "time": "end_time"})
    return runs[["at", "time", "thread", "function", "device", "handle"]].hstack(ends)


def _ends(events: Events, succeeded: str, failed: str) -> pl.DataFrame:
    ends = events.messages(succeeded, failed)
    return ends.hstack([(ends["id"] == failed).alias("failed")])


def _close_unnamed(
    runs: pl.DataFrame, ends: pl.DataFrame, is_open: Integers, *, nested: bool
) -> Iterator[tuple[Integers, Integers]]:
    """Runs of those that are open with rows of `ends` that close them."""
    left = np.arange(ends.height)
    if not nested:
        # A kernel that fails mostly does so before it computes: of several, the last that began.
        failed = where(ends["failed"])
        begun = last_before(rows(ends[["at"]], failed), rows(runs[["at"]], is_open))
        row = first_with(begun, len(is_open))
        yield is_open[row >= 0], failed[row[row >= 0]]
        is_open, left = is_open[row < 0], np.delete(left, failed)
    opened, closed = (table[["at", "thread"]] for table in (runs, ends))
    row = match_nested(rows(opened, is_open), rows(closed, left), nested=nested)
    yield is_open[row >= 0], left[row[row >= 0]]


def _dispatch_of_runs(executing: pl.DataFrame, runs: pl.DataFrame) -> Integers:
    """Return for each run the dispatch it carries out: by name, and by thread where that is known.

    In asynchronous eager mode a thread of its own runs what others dispatch.
    """
    wrapped = pl.when(~is_part(pl.col("function"))).then(wrapped_op(pl.col("function")))
    named = runs.select("at", pl.coalesce(wrapped, "function"), "thread")
    by_thread = np.isin(runs["thread"].to_numpy(), executing["thread"].to_numpy()).all()
    keys = slice(3 if by_thread else 2)
    dispatch = match_in_order(executing[["at", "name", "thread"]][:, keys], named[:, keys])
    mesh = where(runs["function"].str.contains(MESH))
    if len(mesh):
        ran, number = rows(runs, mesh), pl.int_range(pl.len()).over("name")
        ran = ran.select("function", number=_number_on_device(ran["function"], ran["device"]))
        dispatch[mesh] = row_with(ran, executing.select("name", number=number))
    return dispatch


def _with_ends(events: Events, executing: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Add dispatch (the row), end_at, end_time, exit and status."""
    complete = pl.col("end_at").is_not_null().all()
    ends = runs.group_by("dispatch").agg(
        run_at=pl.col("at").min(),
        ended_at=pl.when(complete).then(pl.col("end_at").max()),
        ended=pl.when(complete).then(pl.col("end_time").max()),
        run_failed=pl.col("failed").any(),
    )
    # A compiled function has no component: only the dispatch itself says when it is over.
    leaving = events.messages("exiting_call").select(
        exit="at", name="op", thread="thread", exit_time="time", exit_status="status"
    )
    keys = ["name", "thread"]
    exit_of = match_in_order(executing[["at", *keys]], leaving[["exit", *keys]])
    exits = rows(leaving.drop(keys), first_with(exit_of, executing.height))
    number = pl.Series("dispatch", np.arange(executing.height))
    eager = looked_up(executing.hstack([number, *exits]), ends, "dispatch")
    # Components end on threads of the pool, and no record says which of several calls of one
    # function an end belongs to; the line at the end of the dispatch is the calling thread's.
    # In asynchronous mode it comes before the run.
    by_exit = pl.when((pl.col("exit") > pl.col("run_at")) & ~pl.col("mesh"))
    end_at = pl.coalesce(by_exit.then("exit"), "ended_at", "exit")
    failed = holds(pl.col("run_failed")) | holds(pl.col("exit_status") != "OK")
    # Before 2.11 only its component says when a call is over; compiled as a whole, it has none.
    silent = pl.col("is_call") & pl.col("run_at").is_null() & pl.lit(leaving.is_empty())
    prints_ends = end_at.is_not_null().any().over("is_call") & ~silent & ~pl.col("remote")
    ended = {"failed": failed, "done": end_at.is_not_null(), "unfinished": prints_ends}
    return eager.select(
        *executing.columns,
        "dispatch",
        "exit",
        end_at=end_at,
        end_time=pl.coalesce(by_exit.then("exit_time"), "ended", "exit_time"),
        status=first_case(ended, "unknown"),
    )


def _kernels_inside(
    runs: pl.DataFrame, instantiations: Instantiations, dispatches: int
) -> pl.Series:
    """The kernel that the layout pass gave the op inside the wrap of each dispatch, null: none.

    The function around an eager op has that one op in it, so its last rewrite is the op's.
    """
    rewrites = instantiations.rewrites[["span", "to_op"]][::-1]
    wrapped = runs.filter(pl.col("function").str.contains(WRAPPED), pl.col("dispatch") >= 0)
    span = rows(instantiations.components["span"], wrapped["component"])
    rewrite = row_with(span.to_frame(), rewrites[["span"]])
    rewritten = np.flatnonzero((rewrite >= 0) & span.is_not_null().to_numpy())
    of = first_with(rows(wrapped["dispatch"], rewritten).to_numpy(), dispatches)
    return rows(rewrites["to_op"], np.append(rewrite[rewritten], -1)[of])


def _with_kernels(eager: pl.DataFrame) -> pl.DataFrame:
    """Add call, and op, kernel and rewrite: by the registry (`_MklX`, `_ZenX`) or in the wrap."""
    by_registry = pl.col("name").str.starts_with("_Mkl")
    by_wrap = ~by_registry & holds(pl.col("inside").str.starts_with("_Mkl"))
    rewrite = first_case({"eager": by_registry, "wrapped": by_wrap})
    number = pl.col("is_call").cum_sum().cast(pl.UInt32) - 1
    return eager.select(
        pl.exclude("inside"),
        op=op_of_kernel(on_mesh(pl.col("name"))),
        kernel=pl.when(by_wrap).then("inside").otherwise(on_mesh(pl.col("name"))),
        rewrite=pl.coalesce(rewrite, rewrite_of_kernel(pl.col("name"))),
        call=pl.when("is_call").then(number),
    )
