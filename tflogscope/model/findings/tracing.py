"""Findings about functions: traced again, slow at first."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from tflogscope.events.events import PLACES
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.calls.python_functions import (
    KERAS_PREDICT,
    KERAS_STEPS,
    PFOR,
    read_tracing,
    retrace_warnings,
    traces_recorded,
)
from tflogscope.model.common.frames import (
    Integers,
    first_after,
    holds,
    is_among,
    last_before,
    only,
    row_with,
    rows,
    where,
)
from tflogscope.model.common.names import function_columns, of_part
from tflogscope.model.costs.first_calls import PARTS
from tflogscope.model.findings.changes import NOTHING, changed
from tflogscope.model.findings.finding import Finding, claim_spans, total
from tflogscope.model.findings.pipelines import is_batched
from tflogscope.model.ledger.phases import traced
from tflogscope.model.ledger.remade import remade_models
from tflogscope.model.ledger.stretches import traced_time
from tflogscope.model.pipeline import Evidence

_OWN = re.compile(
    r"/(?:tensorflow|keras|tf_keras)/"
)  # files that define no function of a program's
_PACKAGE = re.compile(r"/(?:site|dist)-packages/([^/]+)/")  # a function of a library
_LATER = ~pl.col("python_function").is_first_distinct()
_LEAST_PART = threshold("first-call.least_part")
_MOST_TRACING = threshold("retraced.most_tracing")
_WORTH_SAYING = threshold("first-call.tracing_share")


def tracing_findings(evidence: Evidence) -> Iterator[Finding]:
    """What the first calls of functions show."""
    if evidence.calls.is_empty():
        yield from _first_session_runs(evidence)
        return
    yield from _retraced(evidence)
    yield from _first_calls(evidence)


def _retraced(evidence: Evidence) -> Iterator[Finding]:
    firsts = evidence.first_calls.filter(pl.col("flavour") == "inference")
    made = firsts.filter(pl.col("made_by") == PFOR, pl.col("python_function").is_duplicated())
    if not made.is_empty():
        yield _again(evidence, made, "pfor", {"pfor": True})
    yield from _rebuilt(evidence)
    firsts = firsts.filter(pl.col("made_by").is_null())
    firsts = firsts.filter(
        pl.struct("python_function", of_part(pl.col("name"))).is_first_distinct()
    )
    # TensorFlow counts by the code of a function, which several functions may share.
    warnings, keys = retrace_warnings(evidence.events), ["at", "function"]
    warned = rows(firsts["python_function"], last_before(warnings[keys], firsts[keys]))
    again = firsts.filter(pl.col("python_function").is_duplicated())
    alike = pl.col("python_function").n_unique().over("function") > 1
    numbered = pl.format(
        "{}_{}", "function", pl.col("function_uid").first().over("python_function")
    )
    again = again.with_columns(subject=pl.when(alike).then(numbered).otherwise("function"))
    for traces in again.partition_by("python_function"):
        why = _recorded(evidence, traces) or _difference(evidence.nodes, traces)
        if why.pop("of_library", False):
            continue
        count = int((warned == traces["python_function"][0]).sum())
        subject = str(traces["subject"][0])
        yield _again(evidence, traces, subject, {**why, "why": why, "warnings": count})


def _rebuilt(evidence: Evidence) -> Iterator[Finding]:
    """What `remade_models` says."""
    steps = remade_models(evidence)
    loops = steps.partition_by("loop", maintain_order=True)
    for mine in loops:
        lines = mine.group_by("python").agg(pl.col("python_function", "size").n_unique())
        models, sizes = lines["python_function"].max(), lines["size"].max()
        subject = "the model" + f" at {mine['python'][0]}" * (len(loops) > 1)
        facts = {"models": models, "sizes": sizes if sizes != 1 else None}
        yield _again(evidence, mine, subject, facts, pl.col("later"))


def _again(
    evidence: Evidence,
    traces: pl.DataFrame,
    subject: str,
    facts: dict[str, Any],
    later: pl.Expr = _LATER,
) -> Finding:
    """The finding of these traces: later ones, all but the first of each, are avoidable."""
    again = traces.filter(later)
    took = total(again["wall_us"])
    facts |= {
        "traces": traces.height,
        "tracing": _tracing_recorded(evidence, again),
        "took": took,
        "times": _times(again, took or 0.0),
    }
    claims = _claim_retracing(evidence, again)
    return Finding(
        "retraced", subject, again.height, None, again["at"].to_list(), facts, claims=claims
    )


def _claim_retracing(evidence: Evidence, again: pl.DataFrame) -> list[pl.DataFrame]:
    """Claim what first calls took with their tracing.

    `record` writes down how long each was traced: with its lines 5 to 10 % longer than without.
    Other logs show what is asked for before each call. Nothing where no end is known.
    """
    timed = again.filter(pl.col("wall_us").is_not_null())
    if timed.is_empty():
        return []
    first_calls = timed.select("thread", "begin", "end", us=_without_traces().cast(pl.Float64))
    spans = evidence.spans
    if _tracing_recorded(evidence, timed) is not None:
        return [
            first_calls,
            traced(evidence)
            .join(_traces_for(evidence, timed["name"]).to_frame(), on="name")
            .drop("name")
            .with_columns(us=pl.lit(None, pl.Float64)),
        ]
    calls = only(spans, is_among(spans["at"], timed["at"]) & spans["is_call"])
    before = rows(spans, _before(spans, calls)).filter(
        ~pl.col("op").str.contains("IteratorGetNext")
    )
    gap, op = pl.col("gap"), pl.col("work_us")
    tracing = pl.concat([claim_spans(before, gap=gap, op=op), claim_spans(calls, gap=gap)])
    most = _MOST_TRACING * float(first_calls["us"].sum())
    share = min(most / (float(tracing["us"].sum()) or 1.0), 1.0)
    return [first_calls, tracing.with_columns(pl.col("us") * share)]


def _tracing_recorded(evidence: Evidence, calls: pl.DataFrame) -> float | None:
    """How long the functions of these calls were traced, where `record` wrote it down of each."""
    recorded = calls.select("name").join(read_tracing(evidence.events), on="name")
    if recorded.height != calls.height:
        return None
    return _traced_time(evidence, calls["name"], total(recorded["took"]))


def _traced_time(evidence: Evidence, names: pl.Series, recorded: float | None) -> float | None:
    """As the table `time` has it; of threads that it doesn't part, as it was recorded."""
    time = traced_time(evidence, _traces_for(evidence, names))
    return recorded if time is None else time


def _traces_for(evidence: Evidence, names: pl.Series) -> pl.Series:
    """The traces of functions of these names, and those before that made their variables.

    A function that makes variables is traced twice, and the first trace is not called
    (python/eager/polymorphic_function/polymorphic_function.py, Function._initialize).
    """
    traces = read_tracing(evidence.events).sort("at").select("name")
    function = function_columns(pl.col("name"))["function"]
    before = traces.with_columns(before=pl.col("name").shift().over(function))
    first = only(before, is_among(before["name"], names))["before"].drop_nulls()
    called = is_among(first, evidence.first_calls["name"])
    return pl.concat([names, first.filter(~called)])


def _before(spans: pl.DataFrame, calls: pl.DataFrame) -> Integers:
    """The spans between each of these calls and the one before it, on its thread."""
    session = calls.select("thread", pl.col("session") - 1)
    session_row = row_with(spans[["thread", "session"]], session)
    return where(pl.Series(session_row >= 0) & ~spans["is_call"])


def _without_traces() -> pl.Expr:
    """What a call took without the log's own stack traces, which no program takes without a log."""
    return pl.col("wall_us") - pl.col("stack_traces")


def _times(calls: pl.DataFrame, time: float) -> list[dict[str, Any]]:
    """What the time went into, as far as the log shows it, the most first: each by its column."""
    sums = [(name, total(calls[name])) for name in PARTS]
    parts = [(name, part) for name, part in sums if part and part >= _LEAST_PART * time]
    return [{name: part} for name, part in sorted(parts, key=lambda part: -part[1])]


def _recorded(evidence: Evidence, traces: pl.DataFrame) -> dict[str, Any]:
    """What changed from trace to trace, where `record` wrote down what each was traced for."""
    recorded = traces.select("name").join(traces_recorded(evidence.events), on="name")
    if recorded.height < traces.height:
        return {}
    arguments = [dict(json.loads(signature)[1]) for signature in recorded["signature"]]
    place = json.loads(recorded["signature"][0])[0]
    defined = None if not place or _OWN.search(place[0]) else ":".join(map(str, place))
    package = _PACKAGE.search(place[0]) if place else None
    library = package and not _OWN.search(place[0]) and package[1]
    different, signature = list[dict[str, Any]](), _signature(arguments)
    # A library may call its own function first without a state, then with one, as `optimizer_step`
    # of tensorflow_probability's minimize: no program can change that.
    of_library = bool(library) and traces.height == 2
    function = str(traces["function"][0])
    uses = {
        "defined": defined,
        "predicts": function in KERAS_PREDICT,
        "keras": function in KERAS_STEPS,
        "batched": is_batched(evidence, int(traces["at"].max() or 0)),  # type: ignore[arg-type]
    }
    for name in dict.fromkeys(name for argument in arguments for name in argument):
        values = [argument.get(name, NOTHING[1]) for argument in arguments]
        steps = [values[0], *(b for a, b in itertools.pairwise(values) if a != b)]
        if len(steps) > 1:
            how = changed(name, steps)
            of_library &= how.keys() <= {"name", "values", "none"}
            xla = "shape" in how and _is_compiled(traces)
            how |= {"xla": xla, "signature": None if different else signature}
            different.append(how | uses)
    made = recorded["object"].n_unique()
    return {
        "changed": different,
        "ways": _ways(different),
        "remade": made == traces.height,
        "made": made if made > 1 else None,
        "defined": defined,
        "package": library,
        "of_library": of_library and bool(different),
        "alike": True,
    }


def _ways(different: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What to do about each argument that changed; of all Python numbers the same, in one."""
    first, *rest = different or [{}]
    if first.get("signature") and first["defined"]:  # it is of all arguments
        different = [first, *(how for how in rest if "shape" not in how)]
    numbers = [how for how in different if "number" in how]
    if not numbers[1:]:
        return different
    names = [f"`{how['name']}`" for how in numbers]
    others = (how for how in different if how not in numbers)
    return [{"scalars": names}, *others]


def _signature(arguments: Sequence[dict[str, str]]) -> str | None:
    """An `input_signature` that fits all traces; None where not all their arguments are tensors."""
    kinds = [
        changed(name, [argument.get(name, "") for argument in arguments]) for name in arguments[0]
    ]
    if not all("shape" in kind for kind in kinds):
        return None
    return ", ".join(f"tf.TensorSpec({kind['shape']}, tf.{kind['dtype']})" for kind in kinds)


def _difference(nodes: pl.DataFrame, traces: pl.DataFrame) -> dict[str, Any]:
    """Which argument the traces differ in, as far as the nodes of their arguments show it."""
    arguments = nodes.filter(pl.col("op") == "_Arg").join(
        traces.select("function", "function_uid"), on=["function", "function_uid"]
    )
    seen = arguments.select(
        "function_uid",
        index=pl.col("attributes")
        .str.extract(r"(?:^|, )index=(\d+)", 1)
        .cast(pl.Int64, strict=False),
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
    if per.is_empty() and _is_compiled(traces):
        return {"compiled": True}
    if per.is_empty() or (per["traces"] < traces.height).any():
        return {"unread": True}
    differing = [
        {
            "column": column,
            "name": row["name"],
            "values": row[column],
            column: True,
            "xla": column == "shape" and _is_compiled(traces),
        }
        for row in per.sort("index").to_dicts()
        for column in ("type", "shape")
        if len(row[column]) > 1
    ]
    return {"differing": differing, "keep": differing}


def _is_compiled(traces: pl.DataFrame) -> bool:
    """Whether XLA compiled these: it does so for each shape (compiler/jit/device_compiler.h)."""
    return traces.select(pl.col("compile", "xla").count()).row(0) != (0, 0)


def _first_calls(evidence: Evidence) -> Iterator[Finding]:
    """First calls, those of later traces left out: they are in the finding on that function."""
    ready = pl.sum_horizontal("passes", "compile", "primitives")
    more = pl.coalesce(_without_traces() - pl.col("later"), ready)
    counts = (pl.col("traces") == 1) & ~pl.col("nested") & pl.col("wall_us").is_not_null()
    per = evidence.first_calls.with_columns(more=pl.when(counts).then(more))
    per = only(per, per["more"] > 0)
    if per.is_empty():
        return
    most_of_all = per.slice(per["more"].arg_max() or 0, 1)
    slowest = most_of_all.row(0, named=True)
    took = slowest["wall_us"]
    tracing = _traced_time(evidence, most_of_all["name"], slowest["tracing"])
    traced = "tracing" if read_tracing(evidence.events).is_empty() else "traced"
    tensorflows = evidence.python_functions.drop_nulls("made_by")["name"]
    facts = {
        "took": took,
        # Where no record enters a call, what tracing wrote before its last record is not counted.
        "least": slowest["before"] is not None,
        "times": _times(most_of_all, took),
        "later": slowest["later"],
        "unended": slowest["later_calls"] and slowest["later"] is None,
        "once": not slowest["later_calls"],
        "own": slowest["name"] in tensorflows,
        # A part of what the caller waited for, where it is worth a word.
        traced: None if (tracing or 0.0) < _WORTH_SAYING * took else tracing,
        "calls": per.height if per.height > 1 else None,
        "more": float(per["more"].sum()),
    }
    # A program that runs long pays for them once; whether this one does so, no log says.
    subject = str(slowest["function"])
    yield Finding("first-call", subject, per.height, None, [slowest["at"]], facts)


def _first_session_runs(evidence: Evidence) -> Iterator[Finding]:
    """First runs of a session's graphs, one for each set of fetches that was run again.

    Before one the graph is optimized and kernels are made (core/common_runtime/direct_session.cc,
    GetOrCreateExecutors). Nothing is logged when Session.run begins, so it took more. Where runs
    overlap nothing is known.
    """
    if not (evidence.executions.steps["cause"] == "session").any():
        return
    steps = evidence.executions.steps.with_row_index("step_row").filter(cause="session")
    ran = evidence.executions.frame.group_by("step_row").agg(
        begin=pl.col("time").min(),
        end=pl.col("end_time").max(),
        graph=pl.col("definition").unique().sort(),
    )
    runs = steps.join(ran, on="step_row").drop_nulls("end").sort("at")
    runs = runs.with_columns(before=pl.col("last_at").shift().fill_null(-1))
    made = evidence.events.messages("grappler_start", "instantiating_kernel").sort("at")
    source = only(made, holds(made["node"] == "_SOURCE"))  # each executor has one
    if runs.is_empty() or source.is_empty() or (runs["before"] > runs["at"]).any():
        return
    since = rows(made[["at", "time"]], first_after(runs[["before"]], made[["at"]]))
    last = rows(source["at"], last_before(runs[["at"]], source[["at"]]))
    runs = runs.with_columns(since["time"], first=last > runs["before"])
    begin, at = (
        pl.when("first").then(of_first).otherwise(of_later)
        for of_first, of_later in (("time", "begin"), ("before", "at"))
    )
    lines = (pl.col("last_at") - at) / PLACES
    runs = runs.with_columns(took=(pl.col("end") - begin - evidence.line_price * lines).clip(0.0))
    later = runs.filter(~pl.col("first")).group_by("graph").agg(later=pl.col("took").median())
    firsts = runs.filter("first").join(later, on="graph", maintain_order="left")
    more = firsts["took"] - firsts["later"]
    if not (more > 0).any():
        return
    slowest = firsts.row(more.arg_max() or 0, named=True)
    facts = {
        "took": slowest["took"],
        "least": True,
        "later_least": slowest["later"],
        "calls": firsts.height if firsts.height > 1 else None,
        "more": float(more.sum()),
    }
    yield Finding("first-call", "Session.run", firsts.height, None, [slowest["at"]], facts)
