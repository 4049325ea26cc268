"""Findings about functions: traced again, slow at first, idle between calls."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from tflogscope.model.causes.rules import causes_that_count
from tflogscope.model.findings.evidence import Evidence
from tflogscope.model.findings.finding import Finding, most, total
from tflogscope.model.findings.loops import SAVES
from tflogscope.model.frames import Integers, is_among, last_before, row_with, rows, where
from tflogscope.model.python_functions import (
    KERAS_STEPS,
    retrace_warnings,
    traces_recorded,
    tracing_us,
)
from tflogscope.model.unexpected import is_unexpected

_LEAST_CALLS = 4  # from which on there is a steady state to speak of
_IDLE_SHARE = 0.1  # of the time in calls
_PAUSE = 10  # a gap that many times as long as half of them are is no step's
_ITERATOR = (
    "MakeIterator"  # python/data/ops/iterator_ops.py, OwnedIterator: a loop over data begins
)
# What a first call's time goes into, where the log shows it: columns of `first_calls`.
_PARTS = (
    "before_us",
    "passes_us",
    "traces_us",
    "compile_us",
    "primitives_us",
    "xla_us",
    "run_us",
)
_OF_CALLS = ("took_us", "thread")
_LEAST_PART = 0.01  # of the time
_VALUES = 4  # of an argument that are named
_MOST_TRACING = 3  # times what the calls themselves took: more is other code of the program
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
    for traces in firsts.partition_by("python_function"):
        if traces.height < 2:
            continue
        function, again = str(traces["function"][0]), traces.slice(1)
        took, at_stake = total(again["took_us"]), _retracing_us(evidence, again)
        facts = {
            **(_recorded(evidence, traces) or _difference(evidence.nodes, traces)),
            "traces": traces.height,
            "tracing": _tracing_recorded(evidence, again),
            "took": took,
            "times": _times(again, took or 0.0),
            "warned": _warnings(evidence, function),
        }
        at = again["at"].to_list()
        yield Finding("retraced", function, again.height, at_stake, at, facts)


def _retracing_us(evidence: Evidence, again: pl.DataFrame) -> float | None:
    """What first calls took with their tracing, without the log.

    `record` writes down how long each was traced: with its lines 5 to 10 % longer than without.
    Other logs show what is asked for before each call. Null where no end is known.
    """
    known = again.filter(pl.col("took_us").is_not_null())
    if known.is_empty():
        return None
    took, spans = float(known.select(_own_us().sum()).item()), evidence.spans
    traced = _tracing_recorded(evidence, known)
    if traced is not None:
        return took + traced
    calls = rows(spans, where(is_among(spans["at"], known["at"]) & spans["is_call"]))
    before = rows(spans, _before(spans, calls)).filter(
        ~pl.col("op").str.contains("IteratorGetNext")
    )
    tracing = float(before.select((pl.col("gap_us") + pl.col("own_us")).sum()).item() or 0)
    tracing += float(calls["gap_us"].sum())
    return took + min(tracing, _MOST_TRACING * took)


def _tracing_recorded(evidence: Evidence, calls: pl.DataFrame) -> float | None:
    """How long the functions of these calls were traced, where `record` wrote it down of each."""
    traced = calls.select("name").join(tracing_us(evidence.events), on="name")
    return total(traced["took_us"]) if traced.height == calls.height else None


def _before(spans: pl.DataFrame, calls: pl.DataFrame) -> Integers:
    """The spans between each of these calls and the one before it, on its thread."""
    session = calls.select("thread", pl.col("session") - 1)
    found = row_with(spans[["thread", "session"]], session)
    return where(pl.Series(found >= 0) & ~spans["is_call"])


def _own_us() -> pl.Expr:
    """What a call took without the log's own stack traces, which no program takes without a log."""
    return pl.col("took_us") - pl.col("traces_us").fill_null(0)


def _times(calls: pl.DataFrame, time: float) -> list[dict[str, Any]]:
    """What the time went into, as far as the log shows it, the most first: each by its column."""
    stacks = bool(calls["xla_stack_traces"].count())
    sums = [(name, total(calls[name])) for name in _PARTS]
    known = [(name, part) for name, part in sums if part and part >= _LEAST_PART * time]
    return [{name: part, "stacks": stacks} for name, part in sorted(known, key=lambda e: -e[1])]


def _recorded(evidence: Evidence, traces: pl.DataFrame) -> dict[str, Any]:
    """What changed from trace to trace, where `record` wrote down what each was traced for."""
    said = traces.select("name").join(traces_recorded(evidence.events), on="name")
    if said.height < traces.height:
        return {}
    arguments = [dict(json.loads(each)[1]) for each in said["signature"]]
    changed = []
    for name in dict.fromkeys(name for each in arguments for name in each):
        values = [each.get(name, "not given") for each in arguments]
        steps = [values[0], *(b for a, b in itertools.pairwise(values) if a != b)]
        if len(steps) > 1:
            changed.append({"name": name, "values": _few(steps)})
    made = said["object"].n_unique()
    return {"changed": changed, "made": made if made > 1 else None, "alike": True}


def _few(values: list[str]) -> str:
    """Values in a row, some left out in the middle if there are many."""
    more = len(values) > _VALUES
    return " → ".join([*values[: _VALUES - 1], "…", values[-1]] if more else values)


def _difference(nodes: pl.DataFrame, traces: pl.DataFrame) -> dict[str, Any]:
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
        return {"compiled": True}
    if per.is_empty() or (per["traces"] < traces.height).any():
        return {"unread": True}
    differing = [
        {"column": column, "name": row["name"], "values": row[column]}
        for row in per.sort("index").to_dicts()
        for column in ("type", "shape")
        if len(row[column]) > 1
    ]
    return {"differing": differing}


def _warnings(evidence: Evidence, function: str) -> int:
    """How often TensorFlow warned of the retracing of a function."""
    return retrace_warnings(evidence.events).filter(pl.col("function") == function).height


def _first_calls(evidence: Evidence) -> Iterator[Finding]:
    """First calls, those of later traces left out: they are in the finding on that function."""
    ready = pl.sum_horizontal("passes_us", "compile_us", "primitives_us")
    more = pl.coalesce(_own_us() - pl.col("later_us"), ready)
    counts = (pl.col("traces") == 1) & ~pl.col("nested") & pl.col("took_us").is_not_null()
    per = evidence.first_calls.with_columns(more=pl.when(counts).then(more))
    per = rows(per, where(per["more"] > 0))
    if per.is_empty():
        return
    most_of_all = per.slice(per["more"].arg_max() or 0, 1)
    slowest = most_of_all.row(0, named=True)
    time = float(per["more"].sum())
    took, tracing = slowest["took_us"], slowest["tracing_us"]
    facts = {
        "took": took,
        # Where no record enters a call, what tracing wrote before its last record is not counted.
        "least": slowest["before_us"] is not None,
        "times": _times(most_of_all, took),
        "later": slowest["later"],
        "later_us": slowest["later_us"],
        # A part of what the caller waited for, where it is worth a word.
        "tracing": None if (tracing or 0.0) < _WORTH_SAYING * took else tracing,
        "calls": per.height if per.height > 1 else None,
    }
    subject = str(slowest["function"])
    yield Finding("first-call", subject, per.height, time, [slowest["at"]], facts)


def _between(evidence: Evidence, trained_beside: set[str]) -> Iterator[Finding]:
    """Time from the end of a call to the entry of the next one of the same function.

    Only where calls follow each other on a thread, with no other function's call in between. What
    the thread's records cover of a gap is not counted. Longer pauses (before the next `fit`) are
    left out, and gaps in which an iterator was made: an epoch begins there.
    """
    outer = evidence.calls.filter(~pl.col("nested")).sort("begin_at")
    name, last_end = (pl.col(column).shift().over("thread") for column in ("name", "end"))
    gap = pl.when(pl.col("name") == name).then(pl.col("begin") - last_end)
    outer = outer.with_columns(last_end=last_end, gap=gap)
    gaps = rows(outer, where(outer["gap"] > 0))
    ops = _inside(evidence, gaps)
    epochs = is_among(gaps["begin"], ops["until"].filter(ops["op"] == _ITERATOR))
    usual = pl.col("gap").median().over("name")
    steady = gaps.filter((pl.col("gap") <= _PAUSE * usual) & ~epochs)
    for mine in steady.partition_by("name"):
        name, function = mine["name"][0], str(mine["function"][0])
        took, thread = (outer[column].filter(outer["name"] == name) for column in _OF_CALLS)
        # Threads that all call one function wait for requests, or for each other.
        if len(took) < _LEAST_CALLS or function in trained_beside or thread.n_unique() > 1:
            continue
        idle = _idle_us(evidence, mine)
        inside = total(took) or 0.0
        if not inside or idle <= _IDLE_SHARE * inside:
            continue
        facts = {
            **_filled(evidence, _inside(evidence, mine), mine),
            "of_keras": function in KERAS_STEPS,
            "inside": inside,
            "calls": len(took),
            "pauses": int((gaps["name"] == name).sum()) - mine.height,
        }
        yield Finding("between-steps", function, mine.height, idle, mine["at"].to_list(), facts)


def _idle_us(evidence: Evidence, gaps: pl.DataFrame) -> float:
    """What these gaps would have taken without the log, in µs, less what other findings have.

    Eager ops that are findings have Python and dispatch in front of them; `checkpoints` has
    all of a gap in which one was written or read.
    """
    spans = evidence.spans
    calls = rows(spans, where(is_among(spans["at"], gaps["at"]) & spans["is_call"]))
    inside = rows(spans, _before(spans, calls))
    saved = inside.filter(pl.col("op").is_in(SAVES)).select("thread", pl.col("session") + 1)
    judged = pl.Series(is_among(inside["at"], evidence.placed.filter(is_unexpected())["at"]))
    of_keras = gaps["function"][0] in KERAS_STEPS
    own = pl.when(pl.col("after_call") | pl.lit(not of_keras)).then("python_us").otherwise(0.0)
    idle = pl.when(judged).then(own).otherwise("gap_us")
    inside = inside.with_columns(idle=idle).with_columns(pl.col("session") + 1)
    both = pl.concat(
        [
            calls.select("thread", "session", idle="gap_us"),
            inside.select("thread", "session", "idle"),
        ]
    )
    left = rows(both, where(pl.Series(row_with(both[["thread", "session"]], saved) < 0)))
    return float(left["idle"].sum())


def _windows(gaps: pl.DataFrame) -> tuple[Integers, Integers, Integers]:
    thread, since, until = (gaps[name].to_numpy() for name in ("thread", "last_end", "begin"))
    return thread, since, until


def _inside(evidence: Evidence, gaps: pl.DataFrame) -> pl.DataFrame:
    """The eager ops in the gaps: rows of `Evidence.placed`, and until when the gap of each is."""
    ops = rows(evidence.placed, where(evidence.placed["time"] >= 0))
    # A gap may begin in the same µs as an op.
    begins = pl.DataFrame([ops["time"] + 1, ops["thread"]])
    until = rows(gaps["begin"], last_before(begins, gaps[["last_end", "thread"]]))
    ops = ops.hstack([until.alias("until")])
    return rows(ops, where(ops["time"] < until))


def _filled(evidence: Evidence, ops: pl.DataFrame, gaps: pl.DataFrame) -> dict[str, Any]:
    """What ran eagerly in the gaps of a function, and who can have asked for it."""
    if ops.is_empty():
        return {}
    time, made_us = total(ops["cost_us"]), evidence.activity.made_us(*_windows(gaps))
    callback: list[str] = []
    if gaps["function"][0] in KERAS_STEPS:
        never = pl.col("judged_by").is_in(causes_that_count("never"))
        callback = most(ops.filter(~never & ~pl.col("own"))["op"])
    return {
        "data": any("IteratorGetNext" in op for op in most(ops["op"])),
        "ops": ops.height,
        "ops_us": time,
        "kernels_us": made_us if made_us > (time or 0.0) else None,
        "callback": callback,
    }
