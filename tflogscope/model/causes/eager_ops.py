"""Eager ops in the order in which Python asked for them, with the marks that patterns ask for.

One Python statement is often several ops in a row (`ReadVariableOp ReadVariableOp DivNoNan`: the
result of a metric), so the neighbours of an op show who asked for it. Constants are left out:
Python values become tensors anywhere in between, and after their first use not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import Events
from tflogscope.model.executions import Executions
from tflogscope.model.names import function_columns
from tflogscope.model.pairing import match_nested

CONSTANT = "_EagerConst"
# A kernel that runs Python code, which asks for eager ops (python/lib/core/py_func.cc).
PYTHON_OP = "EagerPyFunc"


@dataclass(frozen=True)
class EagerOps:
    """Eager ops and marks, ordered by thread and on a thread by line; one place between threads.

    Where the log prints no threads all ops are one sequence.
    """

    word: pl.Series
    """The op with its tags, or the mark; null between two threads.

    Marks are `tape-starts`, `tape-ends`, `python-starts`, `python-ends` and `call:NAME`.
    """
    row: NDArray[np.int64]
    """The row of `Dispatches.eager`; -1: not an op."""
    at: NDArray[np.int64]


def read_eager_ops(
    events: Events,
    executions: Executions,
    kernels: pl.DataFrame,
    variables: Mapping[str, str],
) -> EagerOps:
    """Put the eager ops of all threads in order.

    Args:
        events: the tapes.
        executions: the eager ops, and the nodes that run Python code.
        kernels: those of `Instantiations.kernels`.
        variables: tags of variables, each with the regular expression that their names match.
    """
    eager = executions.dispatches.eager.select(
        "at", "thread", "op", name=pl.when("is_call").then("name"), row=pl.int_range(pl.len())
    ).filter((pl.col("op") != CONSTANT).fill_null(value=True))
    called = eager.select("name").drop_nulls().unique()
    called = called.with_columns(
        call=pl.format("call:{}", function_columns(pl.col("name"))["function"])
    )
    tags = _tags_of_variables(executions, kernels, variables)
    ops = (
        eager.join(called, on="name", how="left")
        .join(tags, on="row", how="left")
        .select(
            "row", "at", "thread", word=pl.coalesce("call", "variable", "op", pl.lit("")), order=1
        )
    )
    marks = [
        _outermost(_tapes(events), "tape"),
        _outermost(_python_code(executions), "python"),
    ]
    threads = ops.select("thread").unique().with_columns(between=pl.lit(1))
    sequence = pl.concat([ops, *marks, threads], how="diagonal_relaxed").sort(
        "thread", "between", "at", "order"
    )
    return EagerOps(
        _with_equal_turns(sequence["word"]),
        sequence["row"].fill_null(-1).to_numpy(),
        sequence["at"].fill_null(-1).to_numpy(),
    )


def _outermost(spans: pl.DataFrame, name: str) -> pl.DataFrame:
    """The marks where spans (at, end_at, thread) begin and end that are not inside others.

    A span whose end is not in the log goes on.
    """
    begins = spans.select("at", "thread", change=pl.lit(1), order=pl.lit(2))
    ends = spans.select("thread", at="end_at", change=pl.lit(-1), order=pl.lit(0)).drop_nulls()
    marks = pl.concat([begins, ends.select(begins.columns)]).sort("thread", "at", "order")
    depth = pl.col("change").cum_sum().over("thread")
    words = {1: f"{name}-starts", -1: f"{name}-ends"}
    outer = marks.filter(depth == pl.when(pl.col("change") > 0).then(1).otherwise(0))
    return outer.select(
        "at", "thread", "order", word=pl.col("change").replace_strict(words, return_dtype=pl.String)
    )


def _tapes(events: Events) -> pl.DataFrame:
    """Gradients as they are worked out: c/eager/tape.h, ComputeGradient."""
    starts = events.messages("tape_start").select("at", "thread")
    ends = events.messages("tape_end").select("at", "thread")
    closed = match_nested(starts, ends, nested=True)
    end = ends["at"].gather(pl.Series(closed).set(pl.Series(closed < 0), None))
    return starts.with_columns(end_at=end).drop_nulls("end_at")


def _python_code(executions: Executions) -> pl.DataFrame:
    """Where kernels run Python code, as nodes and as eager ops."""
    runs, eager = executions.runs, executions.dispatches.eager
    is_python = (runs.definitions["kernel"] == PYTHON_OP).fill_null(False).to_numpy()
    rows = np.flatnonzero(is_python[runs.definition])
    nodes = pl.DataFrame(
        {
            "at": runs.at[rows],
            "end_at": runs.end_at.gather(rows),
            "thread": runs.thread(rows),
        }
    )
    return pl.concat([nodes, eager.filter(pl.col("op") == PYTHON_OP).select(nodes.columns)])


def _with_equal_turns(word: pl.Series) -> pl.Series:
    """Tag a `LogicalAnd` as far from the one before it as that is from the one before: `again`."""
    place = np.flatnonzero((word == "LogicalAnd").fill_null(value=False).to_numpy())
    gap = np.diff(place)
    again = place[2:][gap[1:] == gap[:-1]]
    return word.scatter(again, "LogicalAnd:again") if len(again) else word


# ---- variables --------------------------------------------------------------------------------


def _tags_of_variables(
    executions: Executions, kernels: pl.DataFrame, tagged: Mapping[str, str]
) -> pl.DataFrame:
    """What is known of the variable that each `VarHandleOp` is for, as tags: row, variable."""
    known = _variables(executions, kernels)
    name, scope = pl.col("name"), pl.col("name").str.extract(r"^(.*?/)", 1)
    tags = {
        "unnamed": name.is_null(),
        "scalar": pl.col("scalar"),
        # keras/src/optimizers/base_optimizer.py (3.x): `adam/iteration`, `adam/kernel_momentum`.
        "optimizer": scope.is_in(scope.filter(name.str.ends_with("/iteration/")).implode()),
        **{tag: name.str.contains(expression) for tag, expression in tagged.items()},
    }
    parts = [
        pl.when(holds.fill_null(value=False)).then(pl.lit(f":{tag}")).otherwise(pl.lit(""))
        for tag, holds in tags.items()
    ]
    return known.select("row", variable=pl.concat_str(pl.lit("VarHandleOp"), *parts))


def _variables(executions: Executions, kernels: pl.DataFrame) -> pl.DataFrame:
    """What the kernel of each `VarHandleOp` says of its variable: row, name (after 2.13), scalar.

    Null where the log doesn't say. A kernel is made for each new name, type and shape while the op
    runs, and used again: the handle of the function that it is in says which. 2.8 has neither, and
    makes the kernel before it dispatches the op.
    """
    runs = executions.dispatches.runs.select(
        pl.col("dispatch").cast(pl.Int64), pl.col("handle").cast(pl.Int64)
    ).unique("dispatch", keep="first")
    handles = (
        executions.dispatches.eager.select(
            pl.int_range(pl.len(), dtype=pl.Int64).alias("row"), "at", "op"
        )
        .filter(pl.col("op") == "VarHandleOp")
        .join(runs, left_on="row", right_on="dispatch", how="left")
        .sort("at")
    )
    wrapped = handles["handle"].is_not_null().any()
    attributes = pl.col("attributes")
    made = (
        kernels.filter(pl.col("op") == "VarHandleOp")
        .select(
            "at",
            name=attributes.str.extract(r'debug_name="([^"]*)"', 1),
            scalar=attributes.str.contains(r"\bshape=\[\]"),
        )
        .sort("at")
        .join_asof(handles, on="at", strategy="backward" if wrapped else "forward")
        .drop_nulls("row")
    )
    by = "handle" if wrapped else "row"
    known = made.drop_nulls(by).unique(by, keep="first").select(by, "name", "scalar")
    return handles.join(known, on=by, how="left").select("row", "name", "scalar")
