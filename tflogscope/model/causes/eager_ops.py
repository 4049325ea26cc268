"""Eager ops in the order in which Python asked for them, with the marks that patterns ask for.

One Python statement is often several ops in a row (`ReadVariableOp ReadVariableOp DivNoNan`: the
result of a metric), so the neighbours of an op show who asked for it. Constants are left out:
Python values become tensors anywhere in between, and after their first use not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.common.frames import (
    Integers,
    begins,
    first_after,
    first_with,
    last_before,
    only,
    row_with,
    rows,
    running,
    where,
)
from tflogscope.model.common.names import PYTHON_OP, function_columns
from tflogscope.model.common.pairing import match_nested
from tflogscope.model.executions.executions import Executions

CONSTANT = "_EagerConst"
_LAST = np.iinfo(np.int64).max


class EagerOps(NamedTuple):
    """Eager ops and marks, ordered by thread and on a thread by line; one place between threads.

    Where the log prints no threads all ops are one sequence.
    """

    word: pl.Series
    """The op with its tags, or the mark; null between two threads.

    Marks are `tape-starts`, `tape-ends`, `python-starts`, `python-ends` and `call:NAME`.
    """
    row: Integers
    """The row of `Dispatches.eager`; -1: not an op."""
    at: Integers


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
    eager = executions.dispatches.eager
    called = pl.when("is_call").then("name")
    words = eager.select(
        pl.coalesce(
            pl.format("call:{}", function_columns(called)["function"]),
            _tags(executions, kernels, variables),
            "op",
            pl.lit(""),
        )
    ).to_series()
    row = where(eager["op"].ne_missing(CONSTANT))
    ops = rows(eager[["at", "thread"]], row).hstack([words[row].alias("word")])
    marks = [
        _outermost(_tapes(events), "tape"),
        _outermost(_python_code(executions), "python"),
    ]
    threads = np.unique(ops["thread"].to_numpy())
    between = pl.DataFrame({"at": np.full(len(threads), _LAST), "thread": threads})
    sequence = pl.concat([ops, *marks, between], how="diagonal")
    order = sequence["order"].fill_null(1).to_numpy()
    order = np.lexsort((order, sequence["at"].to_numpy(), sequence["thread"].to_numpy()))
    row = np.append(row, np.full(sequence.height - len(row), -1))[order]
    sequence = rows(sequence, order)
    return EagerOps(_with_equal_turns(sequence["word"]), row, sequence["at"].to_numpy())


def _outermost(spans: pl.DataFrame, name: str) -> pl.DataFrame:
    """The marks where spans (at, end_at, thread) begin and end that are not inside others.

    A span whose end is not in the log goes on.
    """
    ended = where(spans["end_at"] >= 0)
    at = np.concatenate([spans["at"].to_numpy(), spans["end_at"][ended].to_numpy()])
    thread = np.concatenate([spans["thread"].to_numpy(), spans["thread"][ended].to_numpy()])
    is_end = np.arange(len(at)) >= spans.height
    order = np.lexsort((~is_end, at, thread))
    depth = running(np.where(is_end[order], -1, 1), begins(thread[order]))
    outer = order[depth == ~is_end[order]]
    ending = is_end[outer]
    words = pl.Series([f"{name}-starts", f"{name}-ends"])[ending.astype(np.int64)]
    places = {"at": at[outer], "thread": thread[outer], "order": np.where(ending, 0, 2)}
    return pl.DataFrame({"word": words} | places)


def _tapes(events: Events) -> pl.DataFrame:
    """Gradients as they are worked out: c/eager/tape.h, ComputeGradient."""
    starts, ends = (events.messages(id_)[["at", "thread"]] for id_ in ("tape_start", "tape_end"))
    end = match_nested(starts, ends, nested=True)
    closed = np.flatnonzero(end >= 0)
    return rows(starts, closed).hstack([ends["at"][end[closed]].alias("end_at")])


def _python_code(executions: Executions) -> pl.DataFrame:
    """Where kernels run Python code, as nodes and as eager ops."""
    runs, eager = executions.runs, executions.dispatches.eager
    is_python = where(runs.definitions["kernel"] == PYTHON_OP)
    row = np.flatnonzero(np.isin(runs.definition, is_python)) if len(is_python) else is_python
    nodes = {"at": runs.at[row], "end_at": runs.end_at[row], "thread": runs.thread(row)}
    ops = only(eager[[*nodes]], eager["op"] == PYTHON_OP)
    return pl.concat([pl.DataFrame(nodes), ops])


def _with_equal_turns(word: pl.Series) -> pl.Series:
    """Tag a `LogicalAnd` as far from the one before it as that is from the one before: `again`."""
    place = where(word == "LogicalAnd")
    gap = np.diff(place)
    again = place[2:][gap[1:] == gap[:-1]]
    return word.scatter(again, "LogicalAnd:again") if len(again) else word


# ---- variables --------------------------------------------------------------------------------


def _tags(executions: Executions, kernels: pl.DataFrame, tagged: Mapping[str, str]) -> pl.Series:
    """What is known of the variable that each op is for, as tags; null: another op.

    What adds to a variable is `integer` but where its kernel shows another type.
    """
    op = executions.dispatches.eager["op"]
    of_variables = pl.Series([None], dtype=pl.String).new_from_index(0, len(op))
    name, scope = pl.col("name"), pl.col("name").str.extract(r"^(.*?/)", 1)
    of_variable = {
        "unnamed": name.is_null(),
        "scalar": pl.col("scalar"),
        # keras/src/optimizers/base_optimizer.py (3.x): `adam/iteration`, `adam/kernel_momentum`.
        "optimizer": scope.is_in(scope.filter(name.str.ends_with("/iteration/")).implode()),
        **{tag: name.str.contains(expression) for tag, expression in tagged.items()},
    }
    of_ops = {
        "VarHandleOp": of_variable,
        "AssignAddVariableOp": {"integer": ~pl.col("real").fill_null(value=False)},
    }
    for kind, tags in of_ops.items():
        row = where(op == kind)
        parts = [
            pl.when(holds).then(pl.lit(f":{tag}")).otherwise(pl.lit(""))
            for tag, holds in tags.items()
        ]
        facts = _kernels(executions, kernels, row, kind)
        words = facts.select(pl.concat_str(pl.lit(kind), *parts)).to_series()
        of_variables = of_variables.scatter(row, words)
    return of_variables


def _kernels(
    executions: Executions, kernels: pl.DataFrame, row: Integers, kind: str
) -> pl.DataFrame:
    """What the kernel of each op of a kind says: name (after 2.13), scalar, real.

    Null where the log doesn't say. A kernel is made for each new name, type and shape while the op
    runs, and used again: the handle of the function that it is in says which. 2.8 has neither, and
    makes the kernel before it dispatches the op.
    """
    eager, runs = executions.dispatches
    run = first_with(runs["dispatch"].to_numpy(), eager.height)[row]
    handle, dispatched = rows(runs[["handle"]], run), rows(eager[["at"]], row)
    attributes = pl.col("attributes")
    made = kernels.filter(pl.col("op") == kind).select(
        "at",
        name=attributes.str.extract(r'debug_name="([^"]*)"', 1),
        scalar=attributes.str.contains(r"\bshape=\[\]"),
        real=~attributes.str.contains(r"\bdtype=DT_U?INT"),
    )
    if not handle["handle"].count() and kind == "VarHandleOp":
        return rows(made, first_with(first_after(made[["at"]], dispatched), len(row)))
    kernel = row_with(handle, rows(handle, last_before(made[["at"]], dispatched)))
    return rows(made, np.where(handle["handle"].is_null(), -1, kernel))
