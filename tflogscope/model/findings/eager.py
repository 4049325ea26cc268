"""Findings about ops that ran one by one."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.model.figures import count_of, spoken
from tflogscope.model.findings.evidence import Evidence, Finding, listed, most, total
from tflogscope.model.names import PRODUCTS
from tflogscope.model.once import once
from tflogscope.model.python_functions import KERAS_STEPS
from tflogscope.model.stack_traces import stack_traces_of_calls
from tflogscope.model.unexpected import is_unexpected

# Causes of what a training step asks for that no function runs.
_OF_STEP = ("gradient-tape", "outside-function", "control-flow", "unknown")
_UPDATES = r"^(?:Assign(?:Add|Sub)?VariableOp|Resource(?:Sparse)?Apply\w+)$"
_STEADY = 0.5  # of the calls of a function have such ops behind them
_LEAST_STEPS = 2  # a tape that is played back once is not training
_PYTHON_KERNELS = ("EagerPyFunc", "PyFunc", "PyFuncStateless")
_GENERATOR = "Dataset_from_generator_"  # python/data/ops/from_generator_op.py has three functions
_FROM_GENERATOR = "Dataset.from_generator"
_PYTHON_ADVICE = (
    "Write the body with TensorFlow ops: Python code holds the interpreter's lock and can't be "
    "optimised; ops that it asks for run one by one."
)
_ADVICE = "Move the code that asks for them into the function, or keep its result."
_KERAS_ADVICE = "Keras calls the function; look for them in callbacks, metrics and the data."
_GENERATOR_ADVICE = (
    "Read the data with TensorFlow ops, or in larger pieces: a generator is asked for each element "
    "by itself, and holds the interpreter's lock."
)


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
    yield from _beside(evidence, rest)


def _beside(evidence: Evidence, rest: pl.DataFrame) -> Iterator[Finding]:
    """Ops after the calls of one function, again and again; then all others together."""
    own = evidence.calls.filter(~pl.col("nested") & pl.col("made_by").is_null())
    calls = own.group_by("function").agg(calls=pl.len(), last=pl.col("at").max())
    placed = (
        _after_calls(rest, evidence.calls)
        .join(calls, left_on="near", right_on="function", how="left", maintain_order="left")
        .with_columns(again=pl.col("after") < pl.col("last"))
    )
    often = pl.col("after").filter("again").n_unique().over("near") >= _STEADY * pl.col("calls") - 1
    # What comes after the last call is of the same kind if its op is.
    same = pl.col("again").any().over("near", "op")
    steady = placed.filter((pl.col("calls") > 1) & often & same)
    for (near,), ops in steady.group_by("near", maintain_order=True):
        yield _steady(str(near), ops)
    other = placed.join(steady.select("row"), on="row", how="anti", maintain_order="left")
    if other.height:
        yield from _other(evidence, other)


def _after_calls(ops: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Add `after`, the line of the last call before each op: of its thread, else of any."""
    last = calls.select("at", "thread", any_after="at", after="at").sort("at")
    near = ops.sort("at").join_asof(last.select("at", "any_after"), on="at")
    own = near.join_asof(
        last.select("at", "thread", "after"), on="at", by="thread", check_sortedness=False
    )
    return own.with_columns(pl.coalesce("after", "any_after").alias("after"))


@once
def eager_training(evidence: Evidence) -> pl.DataFrame:
    """The eager ops, rows of `Evidence.placed`, that are training steps; empty: none does that.

    A step plays a tape back and updates variables. Beside a function it counts where it runs at
    least half as many matrix products as a call of the function does; where neither multiplies
    matrices, where it takes at least half as long.
    """
    tape = pl.lit(pl.Series(evidence.causes.proof["gradient"])).gather(pl.col("dispatch"))
    placed = evidence.placed.with_columns(
        beside=pl.when(~pl.col("before_calls")).then("near"),
        tape=pl.when(pl.col("cause") == "gradient-tape").then(tape),
    )
    if not placed["tape"].count():
        return placed.clear()
    of_step = pl.col("judged_by").is_in(_OF_STEP) & ~pl.col("own")
    asked = _of_steps(placed, placed.filter(of_step))
    steps = _steps(placed, asked)
    work = asked.group_by("beside").agg(
        products=pl.col("op").str.contains(PRODUCTS).sum(), took=pl.col("duration_us").sum()
    )
    per = (
        work.join(steps, on="beside", nulls_equal=True)
        .join(_graph_work(evidence), left_on="beside", right_on="function", how="left")
        .with_columns(pl.col("calls", "graph_products", "graph_took").fill_null(0))
    )
    training = per.filter(_outweighs()).select("beside", "begun")
    updates = pl.col("op").str.contains(_UPDATES) & (pl.col("at") > pl.col("begun"))
    trained = placed.join(training, on="beside", nulls_equal=True, maintain_order="left")
    of_step = pl.col("row").is_in(asked["row"].implode())
    return trained.filter(of_step | updates).drop("begun")


def _of_steps(placed: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """Leave out what came before the first step, as initial weights.

    Nothing says where the first forward pass begins. Of each op it has, counted back from the first
    gradient, at most as many as come between an update and the gradients of the next tape.
    """
    own, updates = (
        rows.with_columns(pl.col("beside").fill_null("")).sort("at")
        for rows in (asked, placed.filter(pl.col("op").str.contains(_UPDATES)))
    )
    taped = own.drop_nulls("tape").group_by("beside", "tape").agg(pl.col("at").min()).sort("at")
    numbered = taped.select("beside", "at", number=pl.int_range(1, pl.len() + 1).over("beside"))
    passes, updated = (
        rows.join_asof(numbered, on="at", by="beside", check_sortedness=False)
        for rows in (own, updates)
    )
    forward = passes.filter(pl.col("tape").is_null())
    last = updated.group_by("beside", "number").agg(updated=pl.col("at").max())
    after = forward.drop_nulls("number").join(last, on=["beside", "number"], how="left")
    after = after.filter(pl.col("at") > pl.col("updated").fill_null(-1))
    per = after.group_by("beside", "op", "number").agg(count=pl.len())
    usual = per.group_by("beside", "op").agg(pl.col("count").max())
    first = forward.filter(pl.col("number").is_null()).with_columns(
        back=pl.int_range(pl.len(), 0, -1).over("beside", "op")
    )
    early = first.join(usual, on=["beside", "op"], how="left").filter(
        pl.col("back") > pl.col("count").fill_null(0)
    )
    return asked.join(early.select("row"), on="row", how="anti", maintain_order="left")


def _steps(placed: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """Where tapes are played back and variables updated after it: beside, steps, begun (a line)."""
    taped = asked.drop_nulls("tape")
    steps = taped.group_by("beside").agg(steps=pl.col("tape").n_unique(), begun=pl.col("at").min())
    updates = placed.filter(pl.col("op").str.contains(_UPDATES))
    counted = (
        updates.join(steps, on="beside", nulls_equal=True)
        .group_by("beside", "steps", "begun")
        .agg(updates=(pl.col("at") > pl.col("begun")).sum())
    )
    often = (pl.col("steps") >= _LEAST_STEPS) & (pl.col("updates") >= pl.col("steps"))
    return counted.filter(often).drop("updates")


def _outweighs() -> pl.Expr:
    """Whether an eager step does at least half of what a call does.

    Both sides are multiplied by the number of the other, for there may be no call.
    """
    multiplies = (pl.col("products") + pl.col("graph_products")) > 0
    more = pl.col("products") * pl.col("calls") * 2 >= pl.col("graph_products") * pl.col("steps")
    longer = pl.col("took") * pl.col("calls") * 2 >= pl.col("graph_took") * pl.col("steps")
    return pl.when(multiplies).then((pl.col("products") > 0) & more).otherwise(longer)


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
    is_generator = pl.col("function").str.starts_with(_GENERATOR)
    nodes = evidence.nodes.filter(pl.col("op").is_in(_PYTHON_KERNELS)).with_columns(
        function=pl.when(is_generator)
        .then(pl.lit(_FROM_GENERATOR))
        .otherwise(pl.col("function").fill_null("functions that the log does not name"))
    )
    for (function,), here in nodes.group_by("function", maintain_order=True):
        runs, time = int(here["executions"].sum()), total(here["total_us"])
        if time is not None:
            time = max(time - _stack_traces_us(evidence, str(function)), 0.0)
        inside = ops.filter(pl.col("near").eq_missing(function))
        yield Finding(
            "py-function",
            str(function),
            runs,
            time,
            f"Python code ran {count_of(runs, 'time')} inside {function}{_taking(time)}"
            f"{_included(evidence, inside, str(function))}.",
            inside["at"].to_list() or here["ran_at"].to_list(),
            _GENERATOR_ADVICE if function == _FROM_GENERATOR else _PYTHON_ADVICE,
        )
    if nodes.is_empty() and ops.height:
        time = total(ops["duration_us"])
        said = f"{count_of(ops.height, 'op')} ran eagerly in Python code{_taking(time)}"
        at = ops["at"].to_list()
        yield Finding(
            "py-function", "py_function", ops.height, time, f"{said}.", at, _PYTHON_ADVICE
        )


def _stack_traces_us(evidence: Evidence, function: str) -> float:
    """Time for the log's own stack traces in what Python code asked for inside a function."""
    around = evidence.calls.filter(pl.col("function") == function)["call"].drop_nulls()
    traces = stack_traces_of_calls(evidence.events, evidence.executions)
    return float(traces.filter(pl.col("around").is_in(around.implode()))["took_us"].sum())


def _included(evidence: Evidence, ops: pl.DataFrame, function: str) -> str:
    """What the Python code asked for, whose time is in its own."""
    around = evidence.calls.select(inside="call", around="function")
    called = evidence.calls.join(around, on="inside").filter(pl.col("around") == function)
    asked = [count_of(ops.height, "op") + " that it ran eagerly"] if ops.height else []
    asked += [count_of(called.height, "call") + " of functions"] if called.height else []
    return f", including {' and '.join(asked)}" if asked else ""


def _steady(near: str, ops: pl.DataFrame) -> Finding:
    time, calls, after = total(ops["duration_us"]), int(ops["calls"][0]), ops["after"].n_unique()
    which = f"each of the {calls:,}" if after == calls else f"{after:,} of the {calls:,}"
    return Finding(
        "eager-steady-state",
        near,
        ops.height,
        time,
        f"{count_of(ops.height, 'op')} ran eagerly{_taking(time)}, {ops.height / after:.3g} on "
        f"average after {which} calls of {near}: {most(ops['op'])}.",
        ops["at"].to_list(),
        _KERAS_ADVICE if near in KERAS_STEPS else _ADVICE,
    )


def _other(evidence: Evidence, ops: pl.DataFrame) -> Iterator[Finding]:
    time, at = total(ops["duration_us"]), ops["at"].to_list()
    said = f"{count_of(ops.height, 'op')} ran eagerly{_taking(time)}"
    entered = evidence.events.messages("entering_call")["at"].len()
    if ops["near"].null_count() == ops.height and not entered:
        text = f"{said}, and no graph function was called: {most(ops['op'])}."
        yield Finding("no-function", "the program", ops.height, time, text, at)
    elif evidence.calls.height:
        late = bool((ops["at"] > evidence.calls["at"].max()).all())
        when = "after the last call" if late else "after functions were first called, now and then"
        text = f"{said} {when}: {most(ops['op'])}."
        yield Finding("eager-steady-state", "the program", ops.height, time, text, at, _ADVICE)


def _taking(time: float | None) -> str:
    return "" if time is None else f" in {spoken(time)}"
