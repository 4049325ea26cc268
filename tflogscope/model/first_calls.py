"""What the first call of each function cost, in the parts that the log shows.

A first call makes the function ready (process_function_library_runtime.cc, InstantiateMultiDevice:
grappler and the graph passes), lets XLA compile it where it is to, makes kernels and oneDNN's
primitives, and only then runs. Python traced the function before that.
"""

from __future__ import annotations

import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.executions import Executions
from tflogscope.model.figures import rounded
from tflogscope.model.instantiations import Instantiations
from tflogscope.model.links.candidates import compiled_runs
from tflogscope.model.links.linked import Linked
from tflogscope.model.node_runs import FOLDING_STEP
from tflogscope.model.stack_traces import stack_traces_of_calls

_UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6, "min": 60e6, "h": 3600e6}  # in µs
# Eager ops of these causes may run while a function is being traced (init_scope).
_MADE_WHILE_TRACING = (
    "constant",
    "variable-init",
    "optimizer-slots",
    "metrics",
    "lifted-initializer",
)
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
        calls: a frame of `calls.read_calls`.
        events: what was read.
        executions: all executions.
        instantiations: how functions were made ready.
        linked: oneDNN's lines with their executions.

    The columns of `calls`, later (how many later calls, null: none), and, in µs, null where the log
    does not show it: later_us (their median), traces_us (for the log's own stack traces;
    ready_traces_us of it before `Executing op`, run_traces_us after), passes_us (without these),
    compile_us (with those of XLA, of which there are xla_stack_traces), primitives_us, run_us (the
    rest from `Executing op` on), xla_us (the same of what XLA compiled, where the log does not say
    how long that took).
    """
    first = calls.unique("name", keep="first", maintain_order=True)
    first = first.filter(pl.col("done"))
    later = calls.filter(~pl.col("row").is_in(first["row"].implode()))
    mean = later.group_by("name").agg(later=pl.len(), later_us=rounded(pl.col("took_us").median()))
    parts = first.join(mean, on="name", how="left", maintain_order="left")
    primitives = linked.links.hstack(events.primitives.select("event", "duration_us"))
    for found in (
        _passes(first, instantiations),
        _stack_traces(first, stack_traces_of_calls(events, executions)),
        _compiling(first, events),
        _xla_stack_traces(first, events),
        _making(first, primitives, executions),
    ):
        parts = parts.join(found, on="name", how="left", maintain_order="left")
    passes = pl.col("passes_us") - pl.col("ready_traces_us").fill_null(0.0)
    parts = parts.with_columns(passes_us=passes.clip(0.0))
    run = pl.col("end") - pl.max_horizontal("executing", "begin")
    others = pl.sum_horizontal("compile_us", "primitives_us", "run_traces_us")
    rest = run - others.fill_null(0.0)
    known = pl.when(run >= 0).then(rest.clip(0.0))
    compiled = pl.col("call").is_in(compiled_runs(executions)["call"].drop_nulls().implode())
    unmeasured = compiled & pl.col("compile_us").is_null()
    return parts.with_columns(
        run_us=pl.when(~unmeasured).then(known), xla_us=pl.when(unmeasured).then(known)
    )


def _passes(first: pl.DataFrame, instantiations: Instantiations) -> pl.DataFrame:
    spans = instantiations.spans.select(
        name="function",
        ready="at",
        passes_us=(pl.col("end_time") - pl.col("time")).cast(pl.Float64),
    )
    inside = first.select("name", "begin_at", "at").join(spans, on="name")
    inside = inside.filter(pl.col("ready").is_between("begin_at", "at"))
    return inside.group_by("name").agg(_known_sum("passes_us"))


def _stack_traces(first: pl.DataFrame, traces: pl.DataFrame) -> pl.DataFrame:
    """Time for stack traces: in all, before `Executing op` (inside the passes), and after it."""
    asked = first.select("name", "call", "begin_at", call_at="at")
    inside = traces.join(asked, on="call")
    inside = inside.filter(pl.col("at") > pl.col("begin_at"))
    ready = pl.col("at") < pl.col("call_at")
    return inside.group_by("name").agg(
        traces_us=pl.col("took_us").sum(),
        ready_traces_us=pl.col("took_us").filter(ready).sum(),
        run_traces_us=pl.col("took_us").filter(~ready).sum(),
    )


def _compiling(first: pl.DataFrame, events: Events) -> pl.DataFrame:
    said = compile_times(events).select("compile_us", compiled="at")
    inside = said.join_where(
        first.select("name", "at", "end_at"),
        pl.col("compiled") > pl.col("at"),
        pl.col("compiled") < pl.col("end_at"),
    )
    return inside.group_by("name").agg(_known_sum("compile_us"))


def _xla_stack_traces(first: pl.DataFrame, events: Events) -> pl.DataFrame:
    """Whether XLA wrote stack traces of its own; no record says when each was done."""
    inside = events.messages("xla_stack_trace").select(traced="at")
    inside = inside.join_where(
        first.select("name", "at", "end_at"),
        pl.col("traced") > pl.col("at"),
        pl.col("traced") < pl.col("end_at"),
    )
    return inside.group_by("name").agg(xla_stack_traces=pl.len())


def compile_times(events: Events) -> pl.DataFrame:
    """What XLA said of each compilation: at and time (when it was done), compile_us."""
    unit = pl.col("unit").replace_strict(_UNITS, default=None, return_dtype=pl.Float64)
    return events.messages("xla_compile_time", "xla_compile_time_old").select(
        "at",
        "time",
        compile_us=pl.coalesce(pl.col("microseconds").cast(pl.Float64), pl.col("value") * unit),
    )


def _making(first: pl.DataFrame, primitives: pl.DataFrame, executions: Executions) -> pl.DataFrame:
    """OneDNN says what making a primitive took from ONEDNN_VERBOSE=2 on."""
    made = primitives.filter(pl.col("event").str.starts_with("create")).drop_nulls("execution")
    call = executions.frame["call"].gather(made["execution"].cast(pl.UInt32))
    inside = made.with_columns(call=call).join(first.select("name", "call"), on="call")
    return inside.group_by("name").agg(_known_sum("duration_us").alias("primitives_us"))


def tracing_times(first: pl.DataFrame, eager: pl.DataFrame, events: Events) -> pl.DataFrame:
    """How long each function was traced, at least: from the first record that tracing writes.

    `first` are the first calls; `eager` the eager ops with their causes: at, end_at, thread, cause.
    The columns are name and tracing_us, which is in took_us only as far as before_us is.

    Such are the steps -1 that work out shapes (core/common_runtime/eval_const_tensor.cc) and the
    tape's (c/eager/tape.h), after the last call or eager op of the thread that is not of tracing.
    """
    folding = events.runs.filter(
        pl.Series(events.steps == FOLDING_STEP).gather(events.runs["step"])
    )
    marks = (
        pl.concat(
            [
                events.with_threads(folding.select("at", "time", "site")),
                events.with_threads(
                    folding.select(at="end_at", time="end_time", site="end_site").drop_nulls("at")
                ),
                events.messages(*TAPE_RECORDS).select("at", "time", "thread"),
            ]
        )
        .drop_nulls()
        .sort("at")
    )
    other = (
        eager.filter(~pl.col("cause").is_in(_MADE_WHILE_TRACING).fill_null(value=False))
        .select("thread", since=pl.coalesce("end_at", "at"))
        .sort("since")
    )
    asked = first.select("name", "thread", "begin_at", "begin").sort("begin_at")
    since = asked.join_asof(
        other, left_on="begin_at", right_on="since", by="thread", check_sortedness=False
    ).with_columns(pl.col("since").fill_null(-1))
    begun = since.sort("since").join_asof(
        marks.rename({"at": "mark", "time": "from"}),
        left_on="since",
        right_on="mark",
        by="thread",
        strategy="forward",
        check_sortedness=False,
    )
    begun = begun.filter(pl.col("mark") < pl.col("begin_at"), pl.col("from") < pl.col("begin"))
    return begun.select("name", tracing_us=(pl.col("begin") - pl.col("from")).cast(pl.Float64))


def _known_sum(column: str) -> pl.Expr:
    """The sum; null where nothing is known."""
    return pl.when(pl.col(column).count() > 0).then(pl.col(column).sum()).alias(column)
