"""Findings about functions: traced again, slow at first, idle between calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from tflogscope.model.figures import count_of, spoken
from tflogscope.model.findings.evidence import Evidence, Finding, listed, most, total
from tflogscope.model.frames import Integers
from tflogscope.model.python_functions import KERAS_STEPS
from tflogscope.model.unexpected import USUAL_CAUSES

_LEAST_CALLS = 4  # from which on there is a steady state to speak of
_IDLE_SHARE = 0.1  # of the time in calls
_PAUSE = 10  # a gap that many times as long as half of them are is no step's
_ITERATOR = (
    "MakeIterator"  # python/data/ops/iterator_ops.py, OwnedIterator: a loop over data begins
)
# What a first call's time goes into, where the log shows it.
_PARTS = (
    ("before_us", "tracing and other Python"),
    ("passes_us", "passes"),
    ("traces_us", "the log's own stack traces"),
    ("compile_us", "XLA compilation"),
    ("primitives_us", "making primitives"),
    ("xla_us", "XLA compilation and run"),
    ("run_us", "run"),
)
_WITH_TRACES = ("XLA compilation", "XLA compilation with stack traces of its own")
_LEAST_PART = 0.01  # of the time
_WORTH_SAYING = 0.5  # of the time of the call: what tracing took before it, at least


def tracing_findings(evidence: Evidence, trained_beside: set[str]) -> Iterator[Finding]:
    """What the calls of functions, one after the other, show.

    `trained_beside`: functions beside which eager ops do the training; their gaps are that.
    """
    if evidence.calls.is_empty():
        return
    yield from _retraced(evidence)
    yield from _first_calls(evidence)
    yield from _between(evidence, trained_beside)


def _retraced(evidence: Evidence) -> Iterator[Finding]:
    firsts = evidence.first_calls.filter(
        (pl.col("flavour") == "inference") & pl.col("made_by").is_null()
    )
    for _, traces in firsts.group_by("python_function", maintain_order=True):
        if traces.height < 2:
            continue
        function, again = str(traces["function"][0]), traces.slice(1)
        time, at_stake = total(again["took_us"]), total(again.select(_own_us())["took_us"])
        took = ""
        if time is not None:
            which = "call of the later trace" if again.height == 1 else "calls of the later traces"
            took = f"; the first {which} took {spoken(time)}{_parts(again, time)}"
        yield Finding(
            "retraced",
            function,
            again.height,
            at_stake,
            f"{function} was traced {count_of(traces.height, 'time')}: "
            f"{_difference(evidence.nodes, traces)}{took}{_warned(evidence, function)}.",
            again["at"].to_list(),
        )


def _own_us() -> pl.Expr:
    """What a call took without the log's own stack traces, which no program takes without a log."""
    return pl.col("took_us") - pl.col("traces_us").fill_null(0)


def _parts(calls: pl.DataFrame, time: float) -> str:
    """What the time went into, as far as the log shows it."""
    sums = [(label, total(calls[name])) for name, label in _PARTS]
    if calls["xla_stack_traces"].count():
        sums = [(label.replace(*_WITH_TRACES), part) for label, part in sums]
    known = [(label, part) for label, part in sums if part and part >= _LEAST_PART * time]
    if not known:
        return ""
    known.sort(key=lambda each: -each[1])
    return f" ({', '.join(f'{label} {spoken(part)}' for label, part in known)})"


def _difference(nodes: pl.DataFrame, traces: pl.DataFrame) -> str:
    """Which argument the traces differ in, as far as the nodes of their arguments show it."""
    arguments = nodes.filter(pl.col("op") == "_Arg").join(
        traces.select("function", "function_uid"), on=["function", "function_uid"]
    )
    seen = arguments.select(
        "function_uid",
        index=pl.col("attributes").str.extract(r"(?:^|, )index=(\d+)", 1).cast(pl.Int64),
        name=pl.coalesce(
            pl.col("attributes").str.extract(r'_user_specified_name="([^"]*)"', 1), "node"
        ),
        type=pl.col("dtype"),
        shape=pl.col("attributes").str.extract(r"_output_shapes=\[(\[[^\]]*\])", 1),
    ).drop_nulls("index")
    per = seen.group_by("index").agg(
        pl.col("name").first(),
        type=pl.col("type").drop_nulls().unique().sort(),
        shape=pl.col("shape").drop_nulls().unique().sort(),
        traces=pl.col("function_uid").n_unique(),
    )
    if per.is_empty() and traces.select(pl.col("compile_us", "xla_us").count()).row(0) != (0, 0):
        return "the log doesn't show what differs, because XLA compiled it"
    if per.is_empty() or (per["traces"] < traces.height).any():
        return "not all of their arguments are in records that tflogscope reads"
    differing = [
        f"the {column} of {row['name']} ({listed(row[column])})"
        for row in per.sort("index").to_dicts()
        for column in ("type", "shape")
        if len(row[column]) > 1
    ]
    if differing:
        return f"the traces differ in {listed(differing)}"
    return (
        "the tensors of all traces have the same types and shapes, so a Python value or an object "
        "differs, or the function was made again"
    )


def _warned(evidence: Evidence, function: str) -> str:
    warnings = evidence.events.messages(
        "retrace_warning", "retrace_warning_absl", "retrace_warning_absl_old"
    )
    named = warnings.filter(pl.col("function") == function)
    return f"; TensorFlow warned of it {count_of(named.height, 'time')}" if named.height else ""


def _first_calls(evidence: Evidence) -> Iterator[Finding]:
    """First calls, those of later traces left out: they are in the finding on that function."""
    ready = pl.sum_horizontal("passes_us", "compile_us", "primitives_us")
    per = (
        evidence.first_calls.filter((pl.col("traces") == 1) & ~pl.col("nested"))
        .drop_nulls("took_us")
        .with_columns(more=pl.coalesce(_own_us() - pl.col("later_us"), ready))
        .filter(pl.col("more") > 0)
        .sort("more", descending=True)
    )
    if per.is_empty():
        return
    slowest = per.row(0, named=True)
    time = float(per["more"].sum())
    took = spoken(slowest["took_us"]) + _at_least(slowest)
    together = ""
    if per.height > 1:
        together = f"; {per.height} first calls took {spoken(time)} more than later ones would"
    yield Finding(
        "first-call",
        str(slowest["function"]),
        per.height,
        time,
        f"The first call of {slowest['function']} took {took}"
        f"{_parts(per.head(1), slowest['took_us'])}{_later(slowest)}{_traced(slowest)}{together}.",
        [slowest["at"]],
    )


def _later(call: dict[str, Any]) -> str:
    if call["later"] is None:
        return "; this trace was called once"
    later = call["later_us"]
    if later is None:
        return "; no later call has an end"
    return f", {'the later one' if call['later'] == 1 else 'later ones'} {spoken(later)}"


def _at_least(call: dict[str, Any]) -> str:
    """Where no record enters a call, what tracing wrote before its last record is not counted."""
    return "" if call["before_us"] is None else " or more"


def _traced(call: dict[str, Any]) -> str:
    """What tracing took, where it is a part of what the caller waited for that is worth a word."""
    time = call["tracing_us"]
    if time is None or time < _WORTH_SAYING * call["took_us"]:
        return ""
    return f"; tracing took {spoken(time)} or more before it"


def _between(evidence: Evidence, trained_beside: set[str]) -> Iterator[Finding]:
    """Time from the end of a call to the entry of the next one of the same function.

    Only where calls follow each other on a thread, with no other function's call in between. What
    the thread's records cover of a gap is not counted. Longer pauses (before the next `fit`) are
    left out, and gaps in which an iterator was made: an epoch begins there.
    """
    outer = evidence.calls.filter(~pl.col("nested")).sort("begin_at")
    before = outer.select(pl.col("name", "end").shift(1).over("thread").name.prefix("last_"))
    follows = outer.hstack(before).filter(pl.col("name") == pl.col("last_name"))
    gaps = follows.filter(pl.col("begin") > pl.col("last_end")).with_columns(
        gap=pl.col("begin") - pl.col("last_end")
    )
    epochs = _inside(evidence, gaps).filter(pl.col("op") == _ITERATOR)["until"].implode()
    steady = gaps.filter(
        (pl.col("gap") <= _PAUSE * pl.col("gap").median().over("name"))
        & ~pl.col("begin").is_in(epochs)
    )
    for (name,), mine in steady.group_by("name", maintain_order=True):
        calls = outer.filter(pl.col("name") == name)
        if calls.height < _LEAST_CALLS or mine["function"][0] in trained_beside:
            continue
        idle = float(mine["gap"].sum()) - evidence.activity.recorded_us(*_windows(mine))
        inside = total(calls["took_us"]) or 0.0
        if not inside or idle <= _IDLE_SHARE * inside:
            continue
        made = evidence.activity.made_us(*_windows(mine))
        inside_ops = _inside(evidence, mine)
        pauses = gaps.filter(pl.col("name") == name).height - mine.height
        left_out = f", {count_of(pauses, 'longer gap')} not counted" if pauses else ""
        waiting = " and waiting for data" if _takes_data(inside_ops) else ""
        yield Finding(
            "between-steps",
            str(mine["function"][0]),
            mine.height,
            idle,
            f"{spoken(idle)} of the time between the calls of {mine['function'][0]} is not in the "
            f"log: Python code{waiting}. The calls themselves took {spoken(inside)} "
            f"({count_of(calls.height, 'call')}{left_out})."
            f"{_filled(inside_ops, made, str(mine['function'][0]))}",
            mine["at"].to_list(),
            _what_to_do(inside_ops, str(mine["function"][0])),
        )


def _windows(gaps: pl.DataFrame) -> tuple[Integers, Integers, Integers]:
    thread, since, until = (gaps[name].to_numpy() for name in ("thread", "last_end", "begin"))
    return thread, since, until


def _inside(evidence: Evidence, gaps: pl.DataFrame) -> pl.DataFrame:
    """The eager ops in the gaps: rows of `Evidence.placed`."""
    ops = evidence.placed.drop_nulls("time").sort("time")
    return ops.join_asof(
        gaps.select("thread", since="last_end", until="begin").sort("since"),
        left_on="time",
        right_on="since",
        by="thread",
        check_sortedness=False,
    ).filter(pl.col("time") < pl.col("until"))


def _filled(ops: pl.DataFrame, made_us: float, function: str) -> str:
    """What ran eagerly in the gaps, and who can have asked for it."""
    if ops.is_empty():
        return ""
    time = total(ops["duration_us"])
    took = "" if time is None else f", {spoken(time)}"
    made = f"; making their kernels took {spoken(made_us)}" if made_us > (time or 0.0) else ""
    asked = ops.filter(~pl.col("judged_by").is_in(USUAL_CAUSES) & ~pl.col("own"))
    by_callback = asked.height and function in KERAS_STEPS
    who = f"; a callback asked for {most(asked['op'])}" if by_callback else ""
    return f" In these gaps {count_of(ops.height, 'eager op')} ran{took}{made}{who}."


def _takes_data(ops: pl.DataFrame) -> bool:
    return bool(ops["op"].str.contains("IteratorGetNext", literal=True).any())


def _what_to_do(ops: pl.DataFrame, function: str) -> str:
    """Advice for what is there: Keras' own loop, data taken eagerly, or neither."""
    if function in KERAS_STEPS:
        return "Let a call do several steps (steps_per_execution); do less in callbacks."
    if _takes_data(ops):
        return "Prefetch the data (dataset.prefetch), or loop over it in a tf.function."
    return "A profiler of Python (cProfile, py-spy) shows where the time goes."
