"""Findings about ops that ran one by one."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.model.figures import count_of
from tflogscope.model.findings.evidence import Evidence, Finding, most, spoken, total
from tflogscope.model.unexpected import is_unexpected

_PYTHON_KERNELS = ("EagerPyFunc", "PyFunc", "PyFuncStateless")


def eager_findings(evidence: Evidence) -> Iterator[Finding]:
    """Eager ops where a graph function should have run them, by what asked for them."""
    unexpected = evidence.placed.filter(is_unexpected())
    by_cause = pl.col("judged_by")
    of_keras = unexpected.filter(by_cause == "run-eagerly")
    if of_keras.height:
        yield _of_keras(of_keras)
    yield from _of_python(evidence, unexpected.filter(by_cause == "py-function"))
    rest = unexpected.filter(~by_cause.is_in(["run-eagerly", "py-function"]))
    for (near,), ops in rest.group_by("near", maintain_order=True):
        yield _near(evidence, None if near is None else str(near), ops)


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
    nodes = evidence.nodes.filter(pl.col("op").is_in(_PYTHON_KERNELS))
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
    of_tape = ops.filter(pl.col("cause") == "gradient-tape").height
    said = f"{count_of(ops.height, 'op')} ran eagerly"
    if of_tape > 1:
        where = "no function is called" if near is None else f"beside {near}"
        text = f"{said}{_taking(time)}, {of_tape:,} of them to work out gradients; {where}"
        return Finding(
            "eager-training-step",
            near or "GradientTape",
            ops.height,
            time,
            f"{text}: {most(ops['op'])}.",
            at,
        )
    if near is None:
        text = f"{said}{_taking(time)}: {most(ops['op'])}."
        return Finding("no-function", "the program", ops.height, time, text, at)
    calls = evidence.calls.filter(pl.col("function") == near).height
    each = (
        f" (on average {ops.height / calls:.3g} for each of its {calls:,} calls)"
        if calls > 1
        else ""
    )
    text = f"{said}{_taking(time)}, after {near} was first called{each}: {most(ops['op'])}."
    return Finding("eager-steady-state", near, ops.height, time, text, at)


def _taking(time: float | None) -> str:
    return "" if time is None else f" in {spoken(time)}"
