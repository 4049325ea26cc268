"""Findings about ops that ran one by one."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.model.figures import count_of, spoken
from tflogscope.model.findings.evidence import Evidence, Finding, listed, most, total
from tflogscope.model.names import PRODUCTS
from tflogscope.model.unexpected import is_unexpected

# Causes of what a training step asks for that no function runs.
_OF_STEP = ("gradient-tape", "outside-function", "control-flow", "unknown")
_UPDATES = r"^(?:Assign(?:Add|Sub)?VariableOp|Resource(?:Sparse)?Apply\w+)$"
_LEAST_STEPS = 2  # a tape that is played back once is not training
_PYTHON_KERNELS = ("EagerPyFunc", "PyFunc", "PyFuncStateless")
_GENERATOR = "Dataset_from_generator_"  # python/data/ops/from_generator_op.py has three functions


def eager_findings(evidence: Evidence) -> Iterator[Finding]:
    """Eager ops where a graph function should have run them, by what asked for them."""
    unexpected = evidence.placed.filter(is_unexpected())
    by_cause = pl.col("judged_by")
    of_keras = unexpected.filter(by_cause == "run-eagerly")
    if of_keras.height:
        yield _of_keras(of_keras)
    yield from _of_python(evidence, unexpected.filter(by_cause == "py-function"))
    trained = eager_training(evidence)
    if trained.height:
        yield _trained(trained)
    rest = unexpected.filter(~by_cause.is_in(["run-eagerly", "py-function"]))
    rest = rest.join(trained.select("row"), on="row", how="anti")
    for (near,), ops in rest.group_by("near", maintain_order=True):
        yield _near(evidence, None if near is None else str(near), ops)


def eager_training(evidence: Evidence) -> pl.DataFrame:
    """The eager ops, rows of `Evidence.placed`, that are training steps; empty: none does that.

    A step plays a tape back and updates variables. Beside a function it counts where it runs at
    least half as many matrix products as a call of the function does; where neither multiplies
    matrices, where it takes at least half as long.
    """
    placed = evidence.placed.with_columns(beside=pl.when(~pl.col("before_calls")).then("near"))
    asked = placed.filter(pl.col("judged_by").is_in(_OF_STEP) & ~pl.col("of_keras"))
    tape = pl.lit(pl.Series(evidence.causes.facts["tape"])).gather(pl.col("dispatch"))
    taped = asked.filter(pl.col("cause") == "gradient-tape").with_columns(tape=tape)
    steps = taped.group_by("beside").agg(steps=pl.col("tape").n_unique(), begun=pl.col("at").min())
    updates = (
        placed.filter(pl.col("op").str.contains(_UPDATES))
        .join(steps, on="beside", nulls_equal=True)
        .group_by("beside")
        .agg(updates=(pl.col("at") > pl.col("begun")).sum())
    )
    per = (
        asked.group_by("beside")
        .agg(products=pl.col("op").str.contains(PRODUCTS).sum(), took=pl.col("duration_us").sum())
        .join(steps, on="beside", nulls_equal=True)
        .join(updates, on="beside", nulls_equal=True)
        .join(_graph_work(evidence), left_on="beside", right_on="function", how="left")
        .with_columns(pl.col("calls", "graph_products", "graph_took").fill_null(0))
    )
    # A step against a call: both sides times the number of the other.
    products = pl.col("products") * pl.col("calls") * 2, pl.col("graph_products") * pl.col("steps")
    times = pl.col("took") * pl.col("calls") * 2, pl.col("graph_took") * pl.col("steps")
    multiplies = (pl.col("products") + pl.col("graph_products")) > 0
    weighs = pl.when(multiplies).then((pl.col("products") > 0) & (products[0] >= products[1]))
    trains = weighs.otherwise(times[0] >= times[1])
    often = (pl.col("steps") >= _LEAST_STEPS) & (pl.col("updates") >= pl.col("steps"))
    training = per.filter(often & trains).select("beside")
    return asked.join(training, on="beside", how="semi", nulls_equal=True, maintain_order="left")


def _graph_work(evidence: Evidence) -> pl.DataFrame:
    """Per function: its calls, their time, and how often its nodes multiplied matrices."""
    products = evidence.nodes.filter(pl.col("op").str.contains(PRODUCTS))
    counted = products.group_by("function").agg(graph_products=pl.col("executions").sum())
    took = evidence.calls.group_by("function").agg(
        calls=pl.len(), graph_took=pl.col("took_us").sum()
    )
    return took.join(counted, on="function", how="full", coalesce=True)


def _trained(ops: pl.DataFrame) -> Finding:
    time, taped = total(ops["duration_us"]), (ops["cause"] == "gradient-tape").sum()
    functions = ops["beside"].drop_nulls().unique(maintain_order=True).to_list()
    where = f"beside {listed(functions)}" if functions else "no function is called for it"
    return Finding(
        "eager-training-step",
        functions[0] if functions else "GradientTape",
        ops.height,
        time,
        f"{count_of(ops.height, 'op')} of training steps ran eagerly{_taking(time)}, "
        f"{taped:,} of them to work out gradients; {where}: {most(ops['op'])}.",
        ops["at"].to_list(),
    )


def _of_keras(ops: pl.DataFrame) -> Finding:
    time = total(ops["duration_us"])
    return Finding(
        "run-eagerly",
        "run_eagerly",
        ops.height,
        time,
        f"{count_of(ops.height, 'op')} of Keras' step ran eagerly"
        f"{_taking(time)}: {most(ops['op'])}.",
        ops["at"].to_list(),
    )


def _of_python(evidence: Evidence, ops: pl.DataFrame) -> Iterator[Finding]:
    nodes = evidence.nodes.filter(pl.col("op").is_in(_PYTHON_KERNELS)).with_columns(
        function=pl.when(pl.col("function").str.starts_with(_GENERATOR))
        .then(pl.lit("Dataset.from_generator"))
        .otherwise("function")
    )
    for (function,), here in nodes.group_by("function", maintain_order=True):
        runs, time = int(here["executions"].sum()), total(here["total_us"])
        inside = ops.filter(pl.col("near").eq_missing(function))
        called = f", and the Python code ran {count_of(inside.height, 'op')} eagerly" * bool(
            inside.height
        )
        yield Finding(
            "py-function",
            str(function),
            runs,
            time,
            f"Python code ran {count_of(runs, 'time')} inside {function}{_taking(time)}{called}.",
            inside["at"].to_list() or here["ran_at"].to_list(),
        )
    if nodes.is_empty() and ops.height:
        time = total(ops["duration_us"])
        said = f"{count_of(ops.height, 'op')} ran eagerly in Python code{_taking(time)}"
        yield Finding(
            "py-function", "py_function", ops.height, time, f"{said}.", ops["at"].to_list()
        )


def _near(evidence: Evidence, near: str | None, ops: pl.DataFrame) -> Finding:
    time, at = total(ops["duration_us"]), ops["at"].to_list()
    said = f"{count_of(ops.height, 'op')} ran eagerly{_taking(time)}"
    if near is None:
        text = f"{said}: {most(ops['op'])}."
        return Finding("no-function", "the program", ops.height, time, text, at)
    calls = evidence.calls.filter(pl.col("function") == near).height
    each = (
        f" (on average {ops.height / calls:.3g} for each of its {calls:,} calls)"
        if calls > 1
        else ""
    )
    text = f"{said}, after {near} was first called{each}: {most(ops['op'])}."
    return Finding("eager-steady-state", near, ops.height, time, text, at)


def _taking(time: float | None) -> str:
    return "" if time is None else f" in {spoken(time)}"
