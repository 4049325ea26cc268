"""What the thread of a program's loop spends beside its steps: data, checkpoints, Python code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from tflogscope.model.findings.evidence import Evidence
from tflogscope.model.findings.finding import Finding
from tflogscope.model.frames import is_among, rows, where
from tflogscope.model.once import once
from tflogscope.model.spans import DISPATCH_US, LEAST

# core/kernels/data/iterator_ops.cc: what a loop gets its elements with.
_NEXT = ("IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional")
# core/kernels/save_restore_v2_ops.cc.
SAVES = ("SaveV2", "MergeV2Checkpoints", "RestoreV2")
_PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
_SLOW_OPS = r"^(?:Decode|Read|Resize|RandomCrop|Parse)"
_WORTH = 0.1  # of the time of the loop
_PAUSE = 10  # a wait so many times as long as half of them are is no step's
_GENERATOR = "Dataset_from_generator_"
_STAGE = 0.3  # of the wait that a stage has to take to be named
_PARALLEL = "Parallel"
_LEAST_WAIT = 300.0  # µs for an element, on average: what is ready takes 10 to 120


def loop_findings(evidence: Evidence) -> Iterator[Finding]:
    """Waiting for data, checkpoints, and Python code between eager ops."""
    yield from _input_bound(evidence)
    yield from _checkpoints(evidence)
    yield from _python_overhead(evidence)


# ---- data ----------------------------------------------------------------------------------------


def _input_bound(evidence: Evidence) -> Iterator[Finding]:
    if not input_bound(evidence):
        return
    waits, wait = _waits(evidence), waited_us(evidence)
    stages = _stages(evidence)
    slowest = stages.row(0, named=True) if stages.height else {"took_us": 0.0}
    slow = slowest if slowest["took_us"] >= _STAGE * wait else {}
    there = {re.sub(r"(?:Dataset)?(?:V\d)?$", "", op) for op in evidence.eager["op"].unique()}
    parallel = any(op.startswith(_PARALLEL) for op in there)
    function = str(slow.get("function", ""))
    generator = function.startswith(_GENERATOR)
    python = bool(slow.get("python")) and not generator
    mapped = re.sub(r"^Dataset_\w*?map_", "", function) if slow and not generator else None
    steps = max(evidence.loop_us - wait, 0.0)
    serial = bool(mapped) and not python and not parallel
    # What a map of TensorFlow's ops gains by parallel calls depends on which processors are idle.
    # What a function of Python took in a map is at stake in `py-function`.
    at_stake = None if serial else wait - min(python_waited_us(evidence), wait)
    facts = {
        "of": "in a loop" if waits["eager"].all() else "inside functions",
        "steps": steps or None,
        "generator": generator,
        "python": mapped if python else None,
        "decode": slow.get("op") if mapped and not python else None,
        "mapped": mapped,
        "stage_us": slow.get("took_us"),
        "serial": serial,
        "wait": wait,
        "unread": not slow,
        "prefetch": not slow and "Prefetch" not in there,
        "cache": "Cache" not in there,
    }
    subject = "Dataset.from_generator" if generator else function or "the data"
    yield Finding("input-bound", subject, waits.height, at_stake, waits["at"].to_list(), facts)


def input_bound(evidence: Evidence) -> bool:
    """Whether the program waits for data."""
    count = _waits(evidence).height
    least = max(_WORTH * evidence.loop_us, _LEAST_WAIT * count)
    return count >= LEAST and waited_us(evidence) > least


def waited_us(evidence: Evidence) -> float:
    """How long the program waited for data, in µs."""
    return float(_waits(evidence)["wait_us"].sum())


@once
def _waits(evidence: Evidence) -> pl.DataFrame:
    """What got an element for the program: at, wait_us, eager.

    Longer waits are left out: an epoch begins, buffers are filled.
    """
    eager = evidence.placed.filter(pl.col("op").is_in(_NEXT) & ~pl.col("inside"))
    frame = evidence.executions.frame
    signatures = evidence.executions.signatures
    is_next = (signatures["mode"] == "graph") & signatures["op"].is_in(_NEXT)
    row = where(is_next[frame["signature"]] & frame["call"].is_not_null())
    took = rows(evidence.costs.own_us, pl.Series(row))
    nodes = pl.DataFrame([frame["at"][row], took.alias("wait_us")]).with_columns(eager=False)
    both = pl.concat([eager.select("at", wait_us="cost_us", eager=True), nodes])
    both = both.drop_nulls().sort("at")
    usual = both.select(pl.median("wait_us")).item() or 0.0
    return rows(both, where(both["wait_us"] <= _PAUSE * usual))


def python_waited_us(evidence: Evidence) -> float:
    """How long Python code in maps kept a loop waiting that waits for data, in µs, at most."""
    of_map = ~pl.col("function").str.starts_with(_GENERATOR) & (pl.col("flavour") == "dataset")
    nodes = evidence.nodes.filter(of_map & pl.col("op").is_in(_PYTHON))
    return float(nodes["work_us"].sum())


def _stages(evidence: Evidence) -> pl.DataFrame:
    """Functions of tf.data, the slowest first: function, took_us, python, op (decoding)."""
    nodes = evidence.nodes.filter(pl.col("flavour") == "dataset").drop_nulls("function")
    name = pl.when(pl.col("function").str.starts_with(_GENERATOR)).then(pl.lit(_GENERATOR))
    by_op = nodes.group_by(name.otherwise("function").alias("function"), "op").agg(
        took_us=pl.col("work_us").sum()
    )
    by_op = by_op.sort("took_us", "op", descending=[True, False])
    slow = pl.col("op").str.contains(_SLOW_OPS)
    return (
        by_op.group_by("function", maintain_order=True)
        .agg(
            python=(pl.col("op").is_in(_PYTHON)).any(),
            op=pl.col("op").filter(slow).first(),
            took_us=pl.col("took_us").sum(),
        )
        .sort("took_us", "function", descending=[True, False])
    )


# ---- checkpoints ---------------------------------------------------------------------------------


def _checkpoints(evidence: Evidence) -> Iterator[Finding]:
    """Where files were written or read: what is between two calls; without calls the ops alone."""
    spans = evidence.spans
    saves = where(is_among(spans["at"], evidence.placed["at"].filter(_is_save(evidence))))
    if len(saves) < LEAST:
        return
    # Everything from the last call to the next one is part of it: names and values of variables.
    session = spans["session"][saves].unique()
    inside = rows(spans, where(is_among(spans["session"], session) & ~spans["is_call"]))
    inside = inside.filter(~pl.col("op").is_in(_NEXT))
    of_saves = is_among(inside["at"], spans["at"][saves])
    called = bool(spans["is_call"].any())
    mine = inside if called else rows(inside, where(of_saves))
    mine = mine.filter("again")
    took = float((mine["gap_us"] + mine["own_us"]).sum())
    others = max(evidence.loop_us - took, 0.0)
    if took <= _WORTH * others:
        return
    ops = rows(inside, where(of_saves))
    times = int((ops["op"] == "SaveV2").sum()), int((ops["op"] == "RestoreV2").sum())
    steps = int(spans["is_call"].sum())
    facts = {
        "saved": times[0] or None,
        "restored": times[1] or None,
        "steps": steps or None,
        "others": others,
    }
    yield Finding("checkpoints", "SaveV2" if times[0] else "RestoreV2", sum(times), took,
                  ops["at"].to_list(), facts)  # fmt: skip


def _is_save(evidence: Evidence) -> pl.Series:
    return evidence.placed["op"].is_in(SAVES)


# ---- Python --------------------------------------------------------------------------------------


def _python_overhead(evidence: Evidence) -> Iterator[Finding]:
    """Long gaps before the same op, again and again, in a loop of eager ops.

    Between calls of functions `between-steps` has them.
    """
    spans = evidence.spans
    if spans.is_empty() or int(spans["is_call"].sum()) >= LEAST:
        return
    # With run_eagerly these gaps are Keras' own code.
    of_keras = evidence.placed["at"].filter(evidence.placed["judged_by"] == "run-eagerly")
    of_loop = rows(spans, where(spans["again"] & ~is_among(spans["at"], of_keras)))
    # Single long gaps are kernels that were made.
    long = of_loop.filter((pl.col("python_us") > 0) & (pl.col("usual_us") > DISPATCH_US))
    took = float(long["python_us"].sum())
    work = float(spans["work_us"].sum())
    if long.height < LEAST or took <= _WORTH * evidence.loop_us:
        return
    top = long.group_by("before", "op").agg(pl.col("python_us").sum(), at=pl.col("at").first())
    first = top.sort("python_us", "at", descending=[True, False]).row(0, named=True)
    facts: dict[str, Any] = {
        "work": work,
        "before": first["before"],
        "op": first["op"],
        "wall": evidence.loop_us,
    }
    at = long.filter((pl.col("op") == first["op"]) & (pl.col("before") == first["before"]))["at"]
    yield Finding("python-overhead", str(first["op"]), long.height, took, at.to_list(), facts)
