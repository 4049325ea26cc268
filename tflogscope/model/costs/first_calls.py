"""What the first call of each function cost, in the parts that the log shows.

A first call instantiates the function (process_function_library_runtime.cc, InstantiateMultiDevice:
grappler and the graph passes), lets XLA compile it where it is to, makes kernels and oneDNN's
primitives, and only then runs. Python traced the function before that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from tflogscope.events.events import Events
from tflogscope.events.times import DAY_US
from tflogscope.model.calls.python_functions import read_tracing
from tflogscope.model.common.figures import known_sum, rounded
from tflogscope.model.common.frames import (
    among,
    first_after,
    first_of_each,
    holds,
    last_before,
    looked_up,
    rows,
    where,
)
from tflogscope.model.common.intervals import newly_covered
from tflogscope.model.executions.executions import Executions
from tflogscope.model.executions.instantiations import Instantiations
from tflogscope.model.executions.node_runs import FOLDING_STEP
from tflogscope.model.executions.stack_traces import stack_traces_of_calls
from tflogscope.model.links.candidates import compiled_runs
from tflogscope.model.links.linked import Linked

_UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6, "min": 60e6, "h": 3600e6}  # in µs
# Eager ops of these causes may run while a function is being traced (init_scope).
_MADE_WHILE_TRACING = (
    "constant",
    "variable-init",
    "optimizer-slots",
    "metrics",
    "lifted-initializer",
)
_PIECE = {"name": pl.String, "part": pl.String, "us": pl.Float64}
_PIECES = ("passes", "traces_in_passes", "traces_in_run", "compile", "primitives")
PARTS = ("before", "passes", "stack_traces", "compile", "primitives", "xla", "run")
"""What a first call's time goes into: columns of `first_calls`."""
TAPE_RECORDS = ("tape_start", "tape_popped", "tape_gradient", "tape_end")


def first_calls(
    calls: pl.DataFrame,
    events: Events,
    executions: Executions,
    instantiations: Instantiations,
    linked: Linked,
) -> pl.DataFrame:
    """One row per function whose first call came to a good end, in the order of the log.

    Args:
        calls: a frame of `Evidence.calls`.
        events: what was read.
        executions: all executions.
        instantiations: the instantiations of functions.
        linked: oneDNN's lines with their executions.

    The columns of `calls`, later_calls (how many, null: none), and, in µs, null where the log does
    not show it, later (the median of later calls) and `PARTS`:
    stack_traces (the log's own, which are in no other part), compile (with the stack traces of
    XLA), run (the rest from `Executing op` on), xla (the same of what XLA compiled, where the log
    does not say how long that took).
    """
    first = first_of_each(calls, "name").filter(status="done")
    later = calls.filter(~among(pl.col("row"), first["row"]))
    later = later.group_by("name").agg(
        later_calls=pl.len(), later=rounded(pl.col("work_us").median())
    )
    pieces = [
        pl.DataFrame(schema=_PIECE),
        *_passes(first, instantiations),
        *_stack_traces(first, stack_traces_of_calls(events, executions)),
        *_compiling(first, calls, events),
        *_making(first, linked, events, executions),
    ]
    us = {part: pl.col("us").filter(pl.col("part") == part) for part in _PIECES}
    summed = (
        pl.concat(pieces)
        .group_by("name")
        .agg(**{part: known_sum(time) for part, time in us.items()})
    )
    others = pl.sum_horizontal("compile", "primitives", "traces_in_run")
    run = pl.col("end") - pl.max_horizontal("executing", "begin") - pl.col("log")
    rest = pl.when(run >= 0).then((run - others).clip(0.0))
    compiled = among(pl.col("call"), compiled_runs(executions)["call"].drop_nulls())
    unmeasured = compiled & pl.col("compile").is_null()
    passes = pl.col("passes") - pl.col("traces_in_passes").fill_null(0.0)
    return looked_up(looked_up(first, summed, "name"), later, "name").with_columns(
        passes=passes.clip(0.0),
        stack_traces=pl.sum_horizontal("traces_in_passes", "traces_in_run"),
        run=pl.when(~unmeasured).then(rest),
        xla=pl.when(unmeasured).then(rest),
    )


def _passes(first: pl.DataFrame, instantiations: Instantiations) -> Iterator[pl.DataFrame]:
    """What the call itself instantiated: threads that call at once do so each for itself."""
    spans = instantiations.spans.rename({"function": "name"})
    spans = first.join(spans, on=["name", "thread"], suffix="_made")
    took = pl.min_horizontal("end_time", "end") - pl.col("time")
    yield spans.filter(pl.col("at_made").is_between("begin_at", "at")).select(
        "name", part=pl.lit("passes"), us=took.clip(0).cast(pl.Float64)
    )


def _stack_traces(first: pl.DataFrame, traces: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Time for stack traces: before `Executing op`, which is inside the passes, and after it."""
    inside = traces.join(first.select("name", "call", "begin_at", call_at="at"), on="call")
    part = pl.when(pl.col("at") < pl.col("call_at")).then(pl.lit("traces_in_passes"))
    yield inside.filter(pl.col("at") > pl.col("begin_at")).select(
        "name", part=part.otherwise(pl.lit("traces_in_run")), us="took"
    )


def _compiling(first: pl.DataFrame, calls: pl.DataFrame, events: Events) -> Iterator[pl.DataFrame]:
    """What XLA took, with its stack traces: no record says when each of these was done."""
    of_first = compiled_calls(calls, events).join(first.select("name", "row"), on="row")
    yield of_first.select("name", part=pl.lit("compile"), us="took")


def call_around(records: pl.DataFrame, calls: pl.DataFrame) -> pl.Series:
    """The row of the call that each record (at, thread) was written in; null: none, or not known.

    That is the call of its own thread, or the only one that is open: a thread of the executor
    writes inside a call, too.
    """
    of_thread = rows(calls, last_before(records[["at", "thread"]], calls[["at", "thread"]]))
    open_ = records.select(written="at").join_where(
        calls.select("row", "at", "end_at"),
        pl.col("at") < pl.col("written"),
        pl.col("end_at") > pl.col("written"),
    )
    only = open_.group_by("written").agg(pl.when(pl.len() == 1).then(pl.col("row").first()))
    alone = looked_up(records.select(written="at"), only, "written")["row"]
    inside = (of_thread["end_at"] > records["at"]) & (records["thread"] >= 0)
    return of_thread.select(pl.when(inside).then("row")).to_series().fill_null(alone)


def compiled_calls(calls: pl.DataFrame, events: Events) -> pl.DataFrame:
    """Calls in which XLA compiled: row, took (µs in which it did), clusters (how many).

    Threads of the executor compile the clusters of a call at once, which counts once.
    """
    made = compile_times(events)
    if made.is_empty():
        of_none = {"row": calls["row"].dtype, "took": pl.Float64(), "clusters": pl.UInt32()}
        return pl.DataFrame(schema=of_none)
    begin = pl.col("time") - pl.col("took")
    made = made.with_columns(call_around(made, calls).alias("row"))
    made = made.with_columns(took=newly_covered(begin, begin + pl.col("took"), "row"))
    return made.group_by("row", maintain_order=True).agg(
        took=known_sum(pl.col("took")), clusters=pl.len()
    )


def compile_times(events: Events) -> pl.DataFrame:
    """What XLA said of each compilation: at, thread, time (when it was done), took (µs)."""
    unit = pl.col("unit").replace_strict(_UNITS, default=None, return_dtype=pl.Float64)
    took = pl.coalesce(pl.col("microseconds").cast(pl.Float64), pl.col("value") * unit)
    return events.messages("xla_compile_time", "xla_compile_time_old").select(
        "at", "thread", "time", took=pl.when(took.is_between(0, DAY_US)).then(took)
    )


def _making(
    first: pl.DataFrame, linked: Linked, events: Events, executions: Executions
) -> Iterator[pl.DataFrame]:
    """OneDNN says what making a primitive took from ONEDNN_VERBOSE=2 on.

    A kernel makes its primitives before it runs them. What threads make at once counts once.
    """
    made = where(events.primitives["event"].str.starts_with("create"))
    if len(made):
        execution = linked.links["execution"][made].alias("execution")
        took = pl.DataFrame([execution, events.primitives["duration_us"][made]])
        per = took.drop_nulls().group_by("execution").agg(pl.col("duration_us").sum())
        ran = per.hstack(rows(executions.frame[["call", "time"]], per["execution"]))
        ran = ran.join(first.select("name", "call", "begin"), on="call")
        begin = (pl.col("time") - pl.col("begin")).cast(pl.Float64)
        covered = newly_covered(begin, begin + pl.col("duration_us"), "name")
        yield ran.select("name", part=pl.lit("primitives"), us=covered)


def tracing_times(first: pl.DataFrame, eager: pl.DataFrame, events: Events) -> pl.DataFrame:
    """How long each function was traced, where `record` wrote that down of any.

    Else at least how long: from the first record that tracing writes. `first` are the first calls;
    `eager` the eager ops with their causes: at, end_at, thread, cause. The columns are name and
    tracing (µs), which is in wall_us only as far as before is.

    Such are the steps -1 that work out shapes (core/common_runtime/eval_const_tensor.cc) and the
    tape's (c/eager/tape.h), after the last call or eager op of the thread that is not of tracing.
    """
    recorded = read_tracing(events)
    if recorded.height:
        return recorded.unique("name", keep="first").select("name", tracing="took")
    is_folding = (events.steps == FOLDING_STEP)[events.runs["step"].to_numpy()]
    folding = rows(events.runs, np.flatnonzero(is_folding))
    columns = ["at", "time", "site"]
    ends = folding[[f"end_{name}" for name in columns]]
    of_folding = pl.concat([folding[columns], pl.DataFrame(ends.get_columns(), columns)])
    of_tapes = events.messages(*TAPE_RECORDS)[["at", "time", "thread"]]
    marks = pl.concat([events.with_threads(of_folding), of_tapes]).drop_nulls()
    if marks.is_empty():
        return pl.DataFrame(schema={"name": pl.String, "tracing": pl.Float64})
    tracing = holds(pl.col("cause").is_in(_MADE_WHILE_TRACING))
    other = eager.filter(~tracing).select(pl.coalesce("end_at", "at"), "thread")
    since = rows(other["end_at"], last_before(first[["begin_at", "thread"]], other))
    bounds = pl.DataFrame([since.fill_null(-1), first["thread"]])
    mark = rows(marks, first_after(bounds, marks[["at", "thread"]]))
    took = pl.col("begin") - mark["time"]
    return (
        first.select("name", tracing=pl.when(mark["at"] < pl.col("begin_at")).then(took))
        .filter(pl.col("tracing") > 0)
        .cast({"tracing": pl.Float64})
    )
