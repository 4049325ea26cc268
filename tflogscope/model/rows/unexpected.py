"""Unexpected eager: ops that ran eagerly where a graph function should have run them.

Before the first call of a graph function a program makes its variables and data; after it, what
runs eagerly was asked for by Python code again and again, and that is what teams want to hear of.
Worked out here once, for `Run.unexpected_eager`, `tflogscope check` and the pytest plugin.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.causes.rules import causes_that_count
from tflogscope.model.common.frames import Integers, last_before, only, row_with, rows, where
from tflogscope.model.executions.executions import spelled

After = Literal["first-call", "start"]
_LEAST_TURNS = threshold("unexpected-eager.least_turns")
CALLS_PER_TURN = threshold("unexpected-eager.calls_per_turn")


def function_calls(executions: pl.DataFrame, functions: pl.DataFrame) -> pl.DataFrame:
    """Calls of graph functions, TensorFlow's own left out, of executions with their `row`.

    What tf.data runs is not among them: it runs its functions without a call. `functions` is
    `Run.python_functions`.
    """
    keys = ["function", "function_uid", "flavour"]
    internal = functions.filter(pl.col("made_by").is_not_null())[keys]
    calls = executions.filter(pl.col("kind") == "call")
    return calls.join(internal, on=keys, how="anti", maintain_order="left")


def eager_executions(executions: pl.DataFrame, functions: pl.DataFrame) -> pl.DataFrame:
    """The eager ops among executions, in the order of the log, each with the calls around it.

    Args:
        executions: the `timeline` and own (TensorFlow or Keras asked for it itself).
        functions: `Run.python_functions`.

    Columns: row (in the timeline), those given, with texts as strings, and
    - `near`: the function it belongs to: the one in whose call it ran (`py_function`); else the one
      called last before it; else, before all calls, the one called first; null without calls;
    - `inside`: whether it ran inside a call of that function;
    - `judged_by`: its cause, `unknown` for null; of what ran inside a call `py-function`, whatever
      its own cause is, for nothing else runs there (`constant`: what NumPy code gives back);
    - `before_calls`: whether calls come, and all of them after it.
    """
    number = where(executions["mode"] == "eager")
    row = pl.Series("row", number, pl.UInt32)
    eager = spelled(row.to_frame().hstack(rows(executions, number)))
    calls, ops = function_calls(eager, functions), only(eager, eager["kind"] == "op")
    first_row, first = calls[["row", "function"]].row(0) if calls.height else (0, None)
    last = rows(calls["function"], last_before(ops[["row"]], calls[["row"]]))
    numbered = only(calls, calls["call"] >= 0)
    around = rows(numbered["function"], row_with(ops[["call"]], numbered[["call"]]))
    return ops.with_columns(
        near=pl.coalesce(around, last, pl.lit(first, pl.String)),
        inside=around.is_not_null(),
        judged_by=pl.when(around.is_not_null())
        .then(pl.lit("py-function"))
        .otherwise(pl.col("cause").fill_null("unknown")),
        before_calls=pl.col("row") < first_row,
    )


def leave_to_libraries(eager: pl.DataFrame) -> pl.DataFrame:
    """The same `eager_executions`; Python code in graphs that is of no line is `own`, a library's.

    Where other ops have a line of the program: what a generator gives is serialized for its data
    set, and a library's generator may run ops of its own.
    """
    lineless = (pl.col("judged_by") == "py-function") & pl.col("python").is_null()
    lineless &= bool(eager["python"].count())
    judged_by = pl.when(lineless).then(pl.lit("library")).otherwise("judged_by")
    return eager.with_columns(own=pl.col("own") | lineless, judged_by=judged_by)


def count_training(eager: pl.DataFrame, findings: pl.DataFrame) -> pl.DataFrame:
    """The same `eager_executions`, `before_calls` until steps of training run op by op.

    A program that trains so may call a function afterwards, to evaluate. The first line of
    `eager-training-step` is that of the first op of its steps; as a note it costs next to nothing,
    as a few steps do that prepare variables.
    """
    costly = findings.filter(id="eager-training-step", severity="warning")
    training = costly[["source", "line"]]
    first = eager.join(training, on=["source", "line"])["row"].head(1)
    before = pl.col("before_calls") & (pl.col("row") < pl.lit(first))
    return eager.with_columns(before_calls=before) if first.len() else eager


def is_unexpected(
    allowed_causes: tuple[str, ...] | None = None, after: After = "first-call"
) -> pl.Expr:
    """Whether a row of `eager_executions` counts.

    Causes that are allowed never do (not given: those that are part of every program), nor does
    what TensorFlow or Keras asks for itself. Of the others, those of Python code in place of a
    graph always do, and the rest where `after` says: from the first call of a graph function on, or
    from the start. Where no graph function is ever called, the start is meant. A cause that is not
    known is not allowed.
    """
    allowed = causes_that_count("never") if allowed_causes is None else allowed_causes
    cause = pl.col("judged_by")
    counted = pl.lit(True) if after == "start" else ~pl.col("before_calls")
    always = cause.is_in(causes_that_count("always"))
    return ~cause.is_in(allowed) & (always | (counted & ~pl.col("own")))


def repeats(ops: pl.DataFrame, place: str) -> bool:
    """Whether some place of the program ran its eager ops again and again, or a place is not known.

    Ops are in the order of the log; `place` is the column that says what asked for each. A place
    that ran so often asked for equal rows of ops.
    """
    if ops[place].null_count():
        return True
    code = pl.col("op").cast(pl.String).rank("dense").fill_null(0)
    of_place = ops.select(place, code=code).group_by(place).agg("code")["code"]
    return any(_turns_of(codes.to_numpy()) >= _LEAST_TURNS for codes in of_place)


def seldom_lines(ops: pl.DataFrame, calls: pl.DataFrame) -> list[str]:
    """Lines of the program that ran once or twice after few of its calls, as once in an epoch.

    `ops` and `calls`, of `function_calls`, have a `row`. Few are so many of those of the function
    that is called most.
    """
    most = calls["function"].value_counts()["count"].max() or 0
    ops = ops.with_columns(after=pl.Series(calls["row"].search_sorted(ops["row"])))
    turns = ops.drop_nulls("python").group_by("python").agg(pl.col("after").n_unique())
    few = turns.filter(pl.col("after") * CALLS_PER_TURN <= most)["python"]
    return [line for line in few if not repeats(ops.filter(python=line), "after")]


def _turns_of(codes: Integers) -> int:
    """The largest number of equal rows that make up all of a row of numbers."""
    sizes = np.arange(1, len(codes) + 1)
    for size in sizes[len(codes) % sizes == 0]:
        if (codes[size:] == codes[:-size]).all():
            return len(codes) // int(size)
    return 1
