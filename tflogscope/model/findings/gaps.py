"""The time between the calls of one function: eager ops of the program, Python code, waiting."""

from __future__ import annotations

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.calls.python_functions import GRADIENT, KERAS_STEPS
from tflogscope.model.common.frames import holds, is_among, only, rows
from tflogscope.model.common.intervals import covered_within
from tflogscope.model.common.names import CHECKPOINTS, MAKE_ITERATOR, SAVING, UPDATES, runs_for_data
from tflogscope.model.common.once import once
from tflogscope.model.executions.stack_traces import read_stack_traces
from tflogscope.model.findings.finding import CALLBACK, RUNNING_US
from tflogscope.model.ledger.services import serving_threads
from tflogscope.model.pipeline import Evidence
from tflogscope.model.rows.spans import DISPATCH_US

_LEAST_CALLS = threshold("between-steps.least_calls")
_STEADY = threshold("between-steps.steady_share")
_IDLE_SHARE = threshold("between-steps.idle_share")
_HELD = threshold("between-steps.held_share")
_FEW = threshold("between-steps.few_gaps")
_PAUSE = threshold("loop.pause")
_KERAS_US = threshold("between-steps.keras")
_CALL_US = DISPATCH_US / 2
_OP_US = threshold("between-steps.op")
_UNKNOWN_PACE = threshold("between-steps.unknown_pace")
_MOST_PACE = threshold("between-steps.most_pace")
_EVERY = pl.lit(value=True)
FOR_OTHERS = ("read-variable", "constant")
"""Causes of what a graph reads and makes once for a step."""


@once
def read_gaps(evidence: Evidence) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The gaps between calls that follow each other, in a steady state, and the spans in all gaps.

    Pauses are left out. The spans are those of `_spans`.

    Between two training steps of Keras only callbacks run code of the program, so calls of other
    functions are theirs. Elsewhere a gap has no call of another function in it, but may be between
    two functions of the program that take turns.

    Columns: name, function, thread, at (of the call after it), last_at, last_end, begin, of_keras,
    pauses (of that name, how many were left out), and in µs, without the log, eager (what a graph
    saves of the program's eager ops) and idle (what no record covers, less what TensorFlow or Keras
    itself needs from one call to the next).
    """
    pace = evidence.without_log.python_pace or _UNKNOWN_PACE
    outer = evidence.calls.lazy().filter(~pl.col("nested")).sort("begin_at")
    training = pl.col("node").str.contains(GRADIENT, literal=True)
    updating = evidence.nodes.filter(training)["function_uid"]
    of_keras = pl.col("function").is_in(KERAS_STEPS)
    fit = of_keras & pl.col("function_uid").is_in(updating.implode())
    outer = outer.with_columns(of_keras=of_keras, fit=fit)
    before = pl.col("name", "end", "end_at").shift()
    last, of_name = (
        before.over(keys).name.prefix(prefix)
        for keys, prefix in (("thread", "last_"), (["thread", "name"], "own_"))
    )
    # Functions that take turns, such as one that embeds a batch and one that trains with it.
    itself = pl.col("last_name") == pl.col("name")
    turns = pl.len().over("thread", "last_name", "name") >= _LEAST_CALLS
    of_program = ~pl.col("of_keras") & ~pl.col("of_keras").shift(1).over("thread")
    in_turn = turns & of_program & ~itself.any().over("thread", "name")
    between = (
        outer.with_columns(last, of_name)
        .with_columns(in_turn=in_turn)
        .select(
            *("name", "function", "thread", "at", "begin", "of_keras", "fit"),
            last_end=pl.when("fit").then("own_end").otherwise("last_end"),
            last_at=pl.when("fit").then("own_end_at").otherwise("last_end_at"),
            follows=pl.col("fit") | itself | pl.col("in_turn"),
            gap=pl.col("begin") - pl.when("fit").then("own_end").otherwise("last_end"),
        )
    )
    gaps = _apart(between.filter(pl.col("follows") & (pl.col("gap") > 0)))
    spans = _spans(evidence, gaps, pace)
    per = spans.group_by("gap_at").agg(
        pl.col("eager", "for_callback", "idle").sum(),
        epoch=((pl.col("op") == MAKE_ITERATOR) & ~pl.col("known")).any(),
        saved=pl.col("saved").any(),
        asked=pl.col("asked").any(),
        known=pl.col("known").any(),
    )
    gaps = gaps.join(per, left_on="at", right_on="gap_at", maintain_order="left")
    # What a callback that writes a checkpoint asks for is in `checkpoints`.
    gaps = gaps.with_columns(
        for_callback=pl.when(~pl.col("saved")).then("for_callback").otherwise(0.0)
    )
    usual = pl.col("gap").median().over("name")
    # Where a callback calls functions after most steps, what makes an iterator is that.
    often = (pl.col("epoch") & pl.col("asked")).mean().over("name") >= _STEADY
    epoch = pl.col("epoch") & ~(often & (pl.len().over("name") >= _LEAST_CALLS))
    # A column of its own: polars takes the square of the groups for `over` within `over`.
    gaps = gaps.with_columns(steady=((pl.col("gap") <= _PAUSE * usual) | pl.col("asked")) & ~epoch)
    steady = pl.col("steady")
    busy = ~pl.col("of_keras") | (pl.col("idle").median().over("name") > 2 * _KERAS_US * pace)
    of_loop = pl.when("of_keras").then(_KERAS_US * min(pace, _MOST_PACE)).otherwise(0.0)
    idle = pl.when(busy & steady & ~pl.col("saved")).then(pl.col("idle") - of_loop).clip(0)
    # Where a callback's eager ops are unexpected, all that it asks for is part of these.
    gaps = gaps.with_columns(of_ops=pl.col("eager").sum().over("name") > 0)
    of_ops = pl.when("of_ops").then("for_callback").otherwise(0.0)
    gaps = gaps.with_columns(
        pauses=(~steady).sum().over("name"),
        eager=pl.col("eager") + of_ops,
        idle=idle.fill_null(0) + pl.col("for_callback") - of_ops,
    )
    kept = gaps.filter(steady | pl.col("known"))
    return kept.filter(pl.len().over("name") >= _LEAST_CALLS - 1), spans


def _apart(gaps: pl.LazyFrame) -> pl.DataFrame:
    """Leave out gaps that lie in one between two training steps: a callback predicts there."""
    fit = gaps.filter("fit").select("thread", fit_at="at", fit_since="last_at").sort("fit_at")
    around = _with_next(gaps, fit, "fit_at")
    inside = holds(pl.col("last_at") > pl.col("fit_since")) & ~pl.col("fit")
    return around.filter(~inside).drop("fit_at", "fit_since").collect()


def _with_next(table: pl.LazyFrame, others: pl.LazyFrame, at: str) -> pl.LazyFrame:
    """Rows, each with the next one of others on its thread, by their column `at`."""
    return table.sort("at").join_asof(
        others,
        left_on="at",
        right_on=at,
        by="thread",
        strategy="forward",
        check_sortedness=False,
    )


def _spans(evidence: Evidence, gaps: pl.DataFrame, pace: float) -> pl.DataFrame:
    """The spans in gaps.

    at, op, thread, since, begin, end, gap_at (which gap), asked (by a callback: it could be left
    out altogether), known (the stack says so); in µs made (of the time before it, what made its
    kernel), eager (what unexpected eager ops take, with their variables), for_callback (of others
    that a callback asked for), idle.
    """
    judged = with_variables(evidence, evidence.unexpected["at"])["at"]
    at = evidence.spans["at"]
    marked = evidence.spans.lazy().with_columns(
        judged=is_among(at, judged),
        known=is_among(at, evidence.asked_by(CALLBACK)),
        saved=pl.col("op").str.contains(CHECKPOINTS) | is_among(at, evidence.asked_by(SAVING)),
    )
    of = gaps.lazy().select("thread", "last_at", "of_keras", "fit", gap_at="at").sort("gap_at")
    both = _with_next(marked, of, "gap_at")
    both = _with_making(evidence, both.filter(pl.col("at") > pl.col("last_at")).collect()).lazy()
    other_call = pl.col("is_call") & (pl.col("at") != pl.col("gap_at"))
    if evidence.lines.stacks.height:  # else Keras' own validation is not told from a callback
        other_call &= pl.col("known")
    by_callback = pl.col("fit") & (pl.col("judged") | pl.col("known") | other_call)
    # Kernels of other loops run in a graph as well.
    running = (pl.col("work_us") - pl.col("cost")).clip(0, RUNNING_US)
    # Kernels of ops with a state are not kept: each run of theirs makes one, before it begins.
    left = (pl.col("gap") - pl.col("made")).clip(0)
    dispatch = pl.min_horizontal(left, pl.lit(DISPATCH_US * pace))
    long = pl.col("usual_gap") > DISPATCH_US * pace
    own_pace = min(pace, _MOST_PACE)
    call = pl.when("is_call").then(_CALL_US * own_pace).otherwise(_OP_US * own_pace)
    of_eager = pl.when("judged").then(dispatch).otherwise(0.0)
    idle = pl.when(long).then((left - pl.max_horizontal(call, of_eager)).clip(0)).otherwise(0.0)
    # Half of what Keras itself does between two steps comes before its callbacks.
    before_callbacks = pl.when("after_call").then(_KERAS_US * own_pace / 2).otherwise(0.0)
    asked_gap = (pl.col("gap") - before_callbacks).clip(0)
    both = both.with_columns(all_of_it=asked_gap + pl.col("work_us"))
    return both.select(
        *("at", "op", "gap_at", "thread", "since", "begin", "end"),
        *("saved", "made"),
        asked=by_callback,
        known=by_callback & pl.col("known"),
        called=pl.col("fit") & other_call,
        eager=pl.when("judged")
        .then(pl.when("fit").then("all_of_it").otherwise(of_eager + pl.col("made") + running))
        .otherwise(0.0),
        for_callback=pl.when(by_callback & ~pl.col("judged")).then("all_of_it").otherwise(0.0),
        idle=pl.when(~by_callback)
        .then(pl.when("of_keras").then(pl.col("gap") - of_eager).otherwise(idle))
        .fill_null(0.0),
    ).collect()


def with_variables(evidence: Evidence, at: pl.Series) -> pl.DataFrame:
    """The spans of ops, and of what reads and assigns variables among them in a loop.

    `v.assign(0.9 * v)` reads `v` right before its first op, and assigns right after the last one.
    """
    reads = evidence.placed.filter(pl.col("judged_by").is_in(FOR_OTHERS))["at"]
    spans = evidence.spans
    spans = spans.with_columns(row=pl.int_range(pl.len()), mine=is_among(spans["at"], at))
    row, mine = pl.col("row"), pl.col("row").filter("mine")
    first, last = (edge.over("thread", "session") for edge in (mine.min(), mine.max()))
    # A constant behind the last one is an argument of the next call.
    read = is_among(spans["at"], reads) & row.is_between(first - 1, last)
    updated = pl.col("op").str.contains(UPDATES) & row.is_between(first, last + 1)
    return spans.filter(pl.col("mine") | (pl.col("again") & (read | updated)))


@once
def waits_for_threads(evidence: Evidence) -> pl.Series:
    """Per span whether ops of other threads began in the gap before it: of replicas, say."""
    spans = evidence.spans
    begins = spans["begin"].sort()
    first, last = begins.search_sorted(spans["since"]), begins.search_sorted(spans["begin"])
    return (last - first > 1) & (spans["gap"] > 0)  # its own predecessor began before


def python_of_data(evidence: Evidence) -> pl.DataFrame:
    """When Python code of tf.data ran: time, end_time."""
    ran = evidence.executions.python_code.drop_nulls(["step_row", "end_time"])
    of_data = evidence.executions.steps.select(runs_for_data()).to_series()
    return only(ran[["time", "end_time"]], rows(of_data, ran["step_row"]))


@once
def measure_gaps(evidence: Evidence) -> pl.DataFrame:
    """What the gaps of each function could save.

    name, function, fit, eager, idle, inside (µs). Gaps in which Python code of tf.data ran all the
    while are not idle (`claim_held_up`). Threads that all call one function wait for requests, or
    for each other; it is left out, and so is what threads call that serve (`serving_findings`).
    """
    serving = pl.col("thread").is_in(serving_threads(evidence))
    calls = evidence.calls.lazy().filter(~pl.col("nested"), ~serving).group_by("name")
    of = calls.agg(
        inside=pl.col("wall_us").sum(), calls=pl.len(), threads=pl.col("thread").n_unique()
    ).filter((pl.col("calls") >= _LEAST_CALLS) & (pl.col("threads") == 1))
    gaps, _ = read_gaps(evidence)
    held = covered_within(python_of_data(evidence), gaps[["last_end", "begin"]])
    per = (
        gaps.lazy()
        .with_columns(held=held)
        .group_by("name", "function", "fit", maintain_order=True)
        .agg(
            pl.col("eager", "idle", "held", "gap").sum(),
            usual=pl.col("idle").median() * pl.len(),
            gaps=pl.len(),
        )
    )
    per = per.join(of, on="name", maintain_order="left")
    steady = pl.when(pl.col("gaps") < _FEW).then("usual").otherwise("idle")
    much = steady > _IDLE_SHARE * pl.col("inside")
    is_held = pl.col("held") > _HELD * pl.col("gap")
    idle = pl.when(much & ~is_held).then("idle").otherwise(0.0)
    return per.with_columns(idle=idle).drop("held", "gap", "usual", "gaps").collect()


def claim_gaps(
    evidence: Evidence, stake: pl.DataFrame, column: str, held: pl.Expr = _EVERY
) -> pl.DataFrame:
    """Claim `eager` or `idle` of the gaps of functions (rows of `measure_gaps`) that hold.

    Each span in a gap has what it added to that: of what a callback asked for all, else the gap
    before it.
    """
    gaps, spans = read_gaps(evidence)
    names = stake.filter(pl.col(column) > 0)["name"]
    gaps = gaps.filter(pl.col("name").is_in(names.implode()) & held)
    of_ops = pl.col("of_ops")
    added = {
        "eager": pl.col("eager") + pl.when(of_ops).then("for_callback").otherwise(0.0),
        "idle": pl.col("idle") + pl.when(of_ops).then(0.0).otherwise("for_callback"),
    }[column]
    of_gap = gaps.select(pl.col(column).alias("of_gap"), "of_ops", gap_at="at")
    claimed = spans.join(of_gap, on="gap_at", maintain_order="left").with_columns(us=added)
    share = pl.col("of_gap") / pl.col("us").sum().over("gap_at")
    whole = pl.col("asked") | (pl.col("eager") > 0)
    return claimed.filter(pl.col("us") > 0).select(
        "thread",
        begin="since",
        end=pl.when(whole).then("end").otherwise("begin"),
        us=pl.col("us") * share,
    )


def _with_making(evidence: Evidence, spans: pl.DataFrame) -> pl.DataFrame:
    """Spans, with made: how much of the gap before each, in µs, made functions and eager kernels.

    The log's own stack traces are left out.
    """
    spans_made = evidence.instantiations.spans.select("thread", "time", "end_time")
    traced = read_stack_traces(evidence.events).select("thread", "since", "until")

    def made(mine: pl.DataFrame) -> pl.DataFrame:
        kernels, traces = (
            covered_within(
                work.filter(thread=mine["thread"][0]).drop_nulls()[:, 1:], mine[["since", "begin"]]
            )
            for work in (spans_made, traced)
        )
        return mine.with_columns(made=(kernels - traces).cast(pl.Float64).clip(0))

    parts = [made(mine) for mine in spans.partition_by("thread", maintain_order=True)]
    return pl.concat(parts) if parts else spans.with_columns(made=pl.lit(0.0))
