"""What graph functions spend beside their work: loops of tiny ops, shapes that vary, threads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from tflogscope.events.onednn_header import header_facts
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.calls.processes import several_processes
from tflogscope.model.calls.python_functions import KERAS_STEPS, traces_recorded
from tflogscope.model.common.frames import holds, is_among, only, rows, where
from tflogscope.model.common.names import CONTROL_OPS, LOOP_OPS, PRODUCTS, PYTHON_OPS, UPDATES
from tflogscope.model.common.origin import cpus_of, fields_of
from tflogscope.model.costs.first_calls import compiled_calls
from tflogscope.model.findings.changes import lengths_vary
from tflogscope.model.findings.finding import (
    Finding,
    claim_in_calls,
    claim_nodes,
    claim_spans,
    most,
)
from tflogscope.model.findings.onednn import last_primitives
from tflogscope.model.pipeline import Evidence

_LEAST_ITERATIONS = threshold("loop-overhead.least_iterations")
_TINY_US = threshold("loop-overhead.tiny")
_WORTH = threshold("node.worth")
_SCHEDULING_US = threshold("loop-overhead.scheduling")
_LEAST_SHAPES = threshold("new-shapes.least")
_LEAST_COMPILED = threshold("new-shapes.least_compiled")
_MORE = {"at": pl.Int64, "name": pl.String, "more": pl.Float64}
_SETTINGS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
# What an iteration may take from the one before, and be done at once for all the same: counters,
# sums (those of gradients are AddN), greatest and least values, rows of results, and what the
# gradient of an iteration needs of it.
_AT_ONCE = (
    *("AddV2", "Add", "AddN", "Sub", "Maximum", "Minimum", "Less", "LogicalAnd"),
    *("Identity", "Const", "Cast", "TensorListSetItem", "TensorListPushBack", "TensorListPopBack"),
    *("_Arg", "_Retval"),
)
# What else hands on state from one iteration to the next: variables, iterators, Python code.
_STATE = rf"{UPDATES}|^Iterator\w+$|{PYTHON_OPS}"
_MAPPED = r"(?:^|/)map(?:_\d+)?/while"
_TURN = r"/[^/]+/_\d+$"  # behind a loop's name (core/common_runtime/lower_while_op.cc)
_LOOP = re.compile(r".*?\bwhile(?:_\d+)?(?=/|$)")


def graph_findings(evidence: Evidence) -> Iterator[Finding]:
    """Loops of tiny work, shapes that vary, more threads than processors."""
    if evidence.executions.signatures["op"].is_in(LOOP_OPS).any():
        nodes, of_all = _nodes_of_loops(evidence), float(evidence.nodes["steady_us"].sum())
        yield from _growing(evidence, nodes, _WORTH * of_all)
        yield from _loop_overhead(evidence, nodes, _WORTH * of_all)
    yield from _new_shapes(evidence)
    yield from _threads(evidence)


# ---- loops ---------------------------------------------------------------------------------------


def _growing(evidence: Evidence, nodes: pl.DataFrame, least: float) -> Iterator[Finding]:
    """Concatenations that a loop hands on, and nothing in it reads: results of all iterations."""
    made = _edges(nodes)
    reads = made.filter(~pl.col("op").is_in([*CONTROL_OPS, "Identity"]))
    handed = made.join(reads, on="node", how="anti").select(source="node", before="source")
    concat = pl.col("op") == "ConcatV2"
    reached = found = reads.filter(concat).select("node", "source")
    while reached.height:
        reached = reached.join(handed, on="source").select("node", source="before")
        reached = reached.unique().join(found, on=["node", "source"], how="anti")
        found = pl.concat([found, reached])
    own = found.filter(pl.col("node") == pl.col("source"))[["node"]].unique()
    between = found.join(own, on="node").join(handed, on="source", how="semi")
    readers = between.join(reads.select("source", reader="node"), on="source")
    read = readers.filter(pl.col("reader") != pl.col("node"))
    grown = nodes.filter(concat).join(own, on="node").join(read, on="node", how="anti")
    for mine in grown.partition_by("function", maintain_order=True):
        took = float(mine["steady_us"].sum())
        if took <= least:
            continue
        facts = {"iterations": int(mine["runs"].sum()), "took": took}
        time, claims = claim_nodes(evidence, mine["definition"].unique().to_numpy(), took)
        function, at = str(mine["function"][0]), mine["at"].to_list()
        yield Finding("growing-tensor", function, mine.height, time, at, facts, claims=claims)


def _loop_overhead(evidence: Evidence, nodes: pl.DataFrame, least: float) -> Iterator[Finding]:
    """Functions whose loops spend more on nodes too small to be worth a kernel than on others.

    Or much on these where tf.map_fn makes the loop: no iteration needs another one's result.
    """
    if evidence.costs.price is None:
        return
    is_tiny = pl.col("steady_us") < _TINY_US * pl.col("runs")
    scheduled = pl.col("steady_us") + _SCHEDULING_US * pl.col("runs")
    nodes = nodes.with_columns(is_tiny.alias("tiny"), steady_us=scheduled)
    for mine in nodes.partition_by("function", maintain_order=True):
        tiny = mine.filter("tiny")
        took, whole = float(tiny["steady_us"].sum()), float(mine["steady_us"].sum())
        of_map = float(tiny.filter(pl.col("node").str.contains(_MAPPED))["steady_us"].sum())
        mapped = of_map > took / 2
        if took <= max(0.0 if mapped else whole / 2, least) or _is_recurrent(mine):
            continue
        of_control = tiny.filter(pl.col("op").is_in(CONTROL_OPS))
        tiny = tiny.sort("steady_us", descending=True)
        name = str(tiny["node"][0])
        facts = {
            "least": _TINY_US,
            "iterations": _iterations(mine),
            "control": of_control.height,
            "ops": most(tiny["op"].filter(~tiny["op"].is_in(CONTROL_OPS))),
            "rest": whole - took or None,
            "mapped": mapped,
        }
        function, at = str(mine["function"][0]), tiny["at"].to_list()
        python = _line_of_loop(evidence, function, name)
        claim = _claim_of_loop(evidence, function, took)
        time, claims = (took, []) if claim.is_empty() else (None, [claim])
        yield Finding("loop-overhead", function, tiny.height, time, at, facts, python, claims)


def _iterations(nodes: pl.DataFrame) -> int:
    """How many iterations all loops ran; of a While that is no loop of nodes, what is usual."""
    turns = nodes.filter(op="NextIteration").group_by(pl.col("node").str.replace(_TURN, ""))
    return int(turns.agg(pl.max("runs"))["runs"].sum()) or int(nodes["iterations"][0])


def _claim_of_loop(evidence: Evidence, function: str, took: float) -> pl.DataFrame:
    """Claim of each call of a function what it takes for nodes that take so many µs in all.

    Of a call's time the executor's scheduling is a part. A first call takes no more for them.
    """
    nodes = evidence.nodes.filter(function=function)
    scheduled = pl.col("steady_us").fill_null(0) + _SCHEDULING_US * pl.col("executions")
    whole = float(nodes.select(scheduled.sum()).item())
    share = min(took / whole, 1.0) if whole else 1.0
    usual = pl.min_horizontal("work_us", pl.col("work_us").median().over("name"))
    calls = evidence.calls.filter(function=function).select("call", us=usual * share)
    most = took / pl.col("us").sum()
    return claim_in_calls(evidence, calls.with_columns(pl.col("us") * most.clip(upper_bound=1)))


def _line_of_loop(evidence: Evidence, function: str, node: str) -> str | None:
    """The line of the program that made the loop of a node, by the loop's name before its own."""
    loop = _LOOP.match(node)
    names = evidence.nodes.filter(function=function)["name"].head(1)
    if loop is None or names.is_empty():
        return None
    lines = evidence.lines
    line: str | None = lines.named(lines.of_nodes(names, pl.Series("node", [loop[0]])))[0]
    return line


def _nodes_of_loops(evidence: Evidence) -> pl.DataFrame:
    """Nodes that run again and again in one call.

    Columns: function, node, op, inputs, runs, iterations (how often half of the nodes ran),
    steady_us, at (of the first run).
    """
    executions, frame = evidence.executions, evidence.executions.frame
    signatures = executions.signatures
    is_loop = (signatures["kind"] == "op") & signatures["op"].is_in(LOOP_OPS)
    looping = where(is_loop[frame["signature"]] & frame["definition"].is_not_null())
    calls = frame["call"][looping].drop_nulls().unique()
    of_calls = is_among(frame["call"], calls) & frame["definition"].is_not_null()
    row = where(of_calls & (frame["status"] != "dead"))
    ran = rows(frame[["call", "definition", "signature", "at"]], row)
    ran = ran.hstack([rows(evidence.costs.of_executions["steady_us"], row)])
    per = ran.group_by("call", "definition", "signature").agg(
        pl.col("at").min(), pl.col("steady_us").sum(), runs=pl.len()
    )
    per = per.filter(pl.col("runs") >= _LEAST_ITERATIONS)
    functions = evidence.calls.select(pl.col("call").cast(per["call"].dtype), "function")
    nodes = (
        per.join(functions, on="call")
        .group_by("function", "definition", "signature")
        .agg(pl.col("at").min(), pl.col("runs", "steady_us").sum())
        .with_columns(iterations=pl.col("runs").median().over("function").cast(pl.Int64))
        .sort("at")
    )
    of_nodes = rows(executions.runs.definitions[["node", "inputs"]], nodes["definition"])
    return nodes.hstack([*of_nodes, rows(signatures["op"], nodes["signature"])])


def _edges(nodes: pl.DataFrame) -> pl.DataFrame:
    """What makes the inputs of nodes: node, op, source."""
    made = nodes.select("node", "op", source=pl.col("inputs").str.split(", ")).explode("source")
    made = made.filter(~pl.col("source").str.starts_with("^"))
    return made.with_columns(pl.col("source").str.replace(r":\d+$", ""))


def _is_recurrent(nodes: pl.DataFrame) -> bool:
    """Whether an iteration needs what the one before did, as in a recurrent net or in training.

    Followed from inputs to what makes them. Where loops are not lowered, the way through the
    function that is called for each iteration is not known; with a matrix product it may be so.
    """
    if nodes["op"].str.contains(_STATE).any():
        return True
    if "NextIteration" not in nodes["op"]:
        return bool(nodes["op"].str.contains(PRODUCTS).any())
    made = _edges(nodes)
    sequential = ~pl.col("op").is_in([*_AT_ONCE, *CONTROL_OPS])
    reached = made.filter(sequential).select("node", before=False)
    starts, seen = reached["node"].unique(), reached.clear()
    while reached.height:
        seen = pl.concat([seen, reached])
        if seen.filter("before")["node"].is_in(starts.implode()).any():
            return True
        steps = reached.join(made, on="node")
        before = pl.col("before") | (pl.col("op") == "NextIteration")
        reached = steps.select(node="source", before=before).unique()
        reached = reached.join(seen, on=["node", "before"], how="anti")
    return False


# ---- shapes --------------------------------------------------------------------------------------


def _new_shapes(evidence: Evidence) -> Iterator[Finding]:
    """Nodes and eager ops that make oneDNN's primitives, and functions that XLA compiles, anew."""
    compiled = _compiled_again(evidence)
    # Of several clusters some are compiled at the second call, whatever the shapes
    # (compiler/jit/device_compilation_profiler.cc, ShouldCompileCluster).
    one = pl.col("clusters") == 1
    of_call, of_clusters = compiled.filter(one), compiled.filter(~one)
    for mine, least in (
        (_made_again(evidence), _LEAST_SHAPES),
        (of_call, _LEAST_COMPILED),
        (of_clusters, _LEAST_SHAPES),
    ):
        if mine.height < least:
            continue
        if mine["more"].sum() <= _WORTH * evidence.loop_time:
            continue
        by_xla = "clusters" in mine.columns
        shapes = mine.group_by("name").len()["len"].max()
        facts: dict[str, Any] = {
            "compiled": by_xla,
            "of_keras": not {*mine["name"]} - {*KERAS_STEPS},
            "inside": not by_xla and _change_inside(mine),
            "lengths": by_xla and _lengths_vary(evidence, mine["at"]),
            "shapes": shapes,
            "names": most(mine["name"]),
        }
        if int(str(shapes)) < least:
            continue
        subject = most(mine["name"])[0]
        at, claims = mine["at"].to_list(), _claim_making(evidence, mine)
        yield Finding("new-shapes", subject, mine.height, None, at, facts, claims=claims)


def _claim_making(evidence: Evidence, made: pl.DataFrame) -> list[pl.DataFrame]:
    """Claim what calls and eager ops take more for what they make: `at`, `call`, `more` of each."""
    per_call = made.drop_nulls("call").group_by("call").agg(us=pl.col("more").sum())
    outside = made.filter(pl.col("call").is_null()).select("at", us="more")
    spans = evidence.spans.join(outside, on="at", maintain_order="left")
    return [claim_in_calls(evidence, per_call), claim_spans(spans, op=pl.col("us"))]


def _change_inside(made: pl.DataFrame) -> bool:
    """Whether most of this is of nodes that met several new problems in one call: in a loop."""
    per = made.drop_nulls("call").group_by("name", "call").len()
    several = per["name"].filter(per["len"] > 1).implode()
    return bool(made["name"].is_in(several).mean() > 0.5)  # type: ignore[operator]


def _lengths_vary(evidence: Evidence, at: pl.Series) -> bool:
    """Whether the functions of these calls were traced for batches of one size, not one length."""
    called = only(evidence.calls, is_among(evidence.calls["at"], at))["python_function"]
    same = evidence.python_functions.filter(pl.col("python_function").is_in(called.implode()))
    traces = same[["name"]].join(traces_recorded(evidence.events), on="name")
    arguments = [json.loads(signature)[1] for signature in traces["signature"]]
    return lengths_vary([" ".join(value for _, value in each) for each in arguments])


def _made_again(evidence: Evidence) -> pl.DataFrame:
    """First runs of another problem than a node's first: at, call, name, more (than later runs)."""
    linked = evidence.linked.executions
    if linked.is_empty() or evidence.costs.price is None:
        return pl.DataFrame(schema=_MORE)
    executions, execution = evidence.executions, linked["execution"]
    ran = rows(executions.frame[["at", "call", "definition", "signature"]], execution).hstack(
        [
            *last_primitives(evidence, execution),
            rows(evidence.costs.known("work_us"), execution),
            linked["primitive_us"],
        ]
    )
    is_call = executions.signatures["kind"] == "call"
    what = ("definition", "signature")
    around = pl.col("work_us") - pl.col("primitive_us")
    ran = only(ran, ~is_call[ran["signature"]]).sort("at")
    # dnnl_sgemm, which Eigen's contraction calls for each of its blocks, keeps no primitive.
    ran = ran.filter(pl.col("primitive") != "gemm_api")
    ran = ran.with_columns(around=around, new=pl.struct(*what, "problem").is_first_distinct())
    usual = pl.when(~pl.col("new")).then("around").median().over(what)
    # What a node makes at its very first run it makes without new shapes as well.
    again = pl.col("new") & (pl.col("at") > pl.col("at").min().over(what))
    ran = ran.with_columns(more=(pl.col("around") - usual.fill_null(0)).clip(0))
    ran = ran.filter(holds(again))
    kernels = rows(executions.signatures["kernel"], ran["signature"])
    nodes = rows(executions.runs.definitions["node"], ran["definition"])
    named = pl.select(name=pl.coalesce(nodes, kernels.cast(pl.String))).to_series()
    return ran.select("at", "call", "more").hstack([named]).drop_nulls(["at", "more", "name"])


def _compiled_again(evidence: Evidence) -> pl.DataFrame:
    """The same of calls of a function for which XLA compiled after an earlier one, and clusters.

    A call may compile several clusters of one function (compiler/jit/mark_for_compilation_pass.cc).
    """
    calls = evidence.calls.select("row", "at", "call", "name", "function")
    compiled = compiled_calls(evidence.calls, evidence.events)
    of_calls = compiled.join(calls, on="row").sort("at")
    later = of_calls.filter(~pl.col("name").is_first_distinct())
    return later.select("at", "call", "clusters", name="function", more="took")


# ---- threads -------------------------------------------------------------------------------------


def _threads(evidence: Evidence) -> Iterator[Finding]:
    """More threads than processors, where `record` wrote down how many there are."""
    cpus = cpus_of(evidence.recorded_as)
    if cpus is None:
        return
    variables = fields_of(evidence.recorded_as, "environment")
    settings = [
        f"{name}={variables[name]}"
        for name in _SETTINGS
        if re.fullmatch(r"\d{1,6}", str(variables.get(name, ""))) and int(variables[name]) > cpus
    ]
    of_onednn = header_facts(evidence.events.primitives).threads or 0
    at, inter = _pool(evidence)
    devices = evidence.executions.runs.definitions["device"].cast(pl.String)
    cpus_used = devices.str.extract(r"/device:(CPU:\d+)$", 1).drop_nulls().n_unique()
    if cpus_used > 1 or several_processes(evidence.events, evidence.executions):
        inter = 0  # each has threads of its own
    counts = {"onednn": of_onednn, "inter": inter}
    many = {name: count for name, count in counts.items() if count > cpus}
    if not many and not settings:
        return
    facts = {**{name: many.get(name) for name in counts}, "settings": settings}
    facts |= {"cpus": cpus, "leads": True}
    count = max([*many.values(), *(int(setting.split("=")[1]) for setting in settings)])
    yield Finding("threads", "threads", count, None, at, facts)


def _pool(evidence: Evidence) -> tuple[list[int], int]:
    """Where the first node ran, and how many threads of TensorFlow's own ran nodes of calls.

    Nodes of a function run in one pool. Iterators on another device have pools of their own
    (core/kernels/data/iterator_ops.cc, IteratorHandleOp), which run functions of tf.data.
    """
    frame, callers = evidence.executions.frame, evidence.calls["thread"].unique().implode()
    row = where(frame["definition"].is_not_null() & frame["call"].is_not_null())
    named = evidence.timeline.columns("function", rows=pl.Series(row))
    ran = rows(frame[["at", "thread"]], row).hstack(named)
    of_pool = ran.filter((pl.col("thread") >= 0) & ~pl.col("thread").is_in(callers))
    threads = of_pool.group_by("function").agg(pl.col("thread").n_unique())["thread"]
    return ran["at"].head(1).to_list(), max(threads, default=0)
