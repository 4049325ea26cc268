"""Causes that a frame of the program's stack proves, in logs with the lines of `record`.

The ops around show most causes. Where neither has a name, a variable of a metric looks like
one of an optimizer, and a comparison of a callback looks like one of the program; the frame that
asked for it shows which it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tflogscope.model.causes.rules import causes_that_count
from tflogscope.model.frames import Integers, where
from tflogscope.model.python_lines import PythonLines

# A frame, the rule that it proves, ops that it proves it for (None: all), and causes that it
# doesn't stand against: a constant is one anywhere, and Keras' eager step holds all of these.
_MAKES = ("VarHandleOp", "AssignVariableOp")
_WIDER = ("constant", "py-function", "run-eagerly")
_PROVEN: tuple[tuple[str, str, tuple[str, ...] | None], ...] = (
    ("optimizer", "optimizer-variable", _MAKES),
    ("metric", "metric-variable", _MAKES),
    ("metric", "metric-update", None),
    ("gradient", "gradient", None),
)
# Frames of TensorFlow's and Keras' own loops, between an op and the nearest frame of the program.
_KERAS_STEP, _TRACING = "step", "tracing"
_OWN = (("callback", "keras-own"), ("saving", "checkpoint"), ("loop", "keras-own"))
# What a metric of the program, or a function that a metric was given, asks for in other functions.
_OF_METRIC = r"^(?:[^<;][^;]*;)+<metric>(?:;|$)"


def _own() -> pl.Expr:
    """The frames of TensorFlow and Keras between an op and the nearest frame of the program."""
    own = pl.col("frames").str.extract(r"^((?:<\w+>;)*)")
    return own.str.strip_chars("<>;").str.split(">;<")


def not_asked_by(lines: PythonLines, frames: Sequence[str]) -> Integers:
    """The eager ops whose stacks are known, with none of these frames between op and program."""
    own = lines.stacks.select(_own().list.set_intersection(list(frames)).list.len() == 0)
    return where(own.to_series()[lines.of_dispatches].fill_null(value=False))


def frame_rules(lines: PythonLines, ops: pl.Series, causes: pl.Series) -> pl.Series:
    """The id of the rule that a frame proves for each eager op; null: none does, or it has it.

    Args:
        lines: which stack asked for each op.
        ops: their types.
        causes: what the ops around show.
    """
    stacks, row = lines.stacks, lines.of_dispatches
    if stacks.is_empty():
        return pl.repeat(None, len(ops), dtype=pl.String, eager=True)
    frames = stacks.select(
        own=_own(),
        mark=pl.col("frames").str.extract(r"^<(\w+)>(?:;|$)"),
        python=pl.col("frames").str.contains(r"(?:^|;)<py_function>(?:;|$)"),
        of_metric=pl.col("frames").str.contains(_OF_METRIC),
    )
    table = pl.DataFrame({"op": ops, "cause": causes, "row": row}).with_columns(
        frames.select(pl.all().gather(row))
    )
    made = table.filter(pl.col("op") == "VarHandleOp")["row"].drop_nulls().unique()
    proven = [
        pl.when(pl.col("python") & (pl.col("cause") != "constant")).then(pl.lit("python-code"))
    ]
    never, always = causes_that_count("never"), causes_that_count("always")
    counts = ~pl.col("cause").is_in((*never, *always))
    is_step = pl.col("own").list.contains(_KERAS_STEP) & ~pl.col("own").list.contains(_TRACING)
    of_step = is_step & (counts | (pl.col("cause") == "read-variable"))
    proven.append(pl.when(of_step).then(pl.lit("keras-batch")))
    for mark, id_, only in _PROVEN:
        holds = (pl.col("mark") == mark) & ~pl.col("cause").is_in(_WIDER)
        if only is not None:  # setting one that exists is something else
            holds &= pl.col("op").is_in(only) & pl.col("row").is_in(made.implode())
        proven.append(pl.when(holds).then(pl.lit(id_)))
    proven.append(pl.when(counts & pl.col("of_metric")).then(pl.lit("metric-update")))
    for mark, id_ in _OWN:
        proven.append(pl.when(counts & pl.col("own").list.contains(mark)).then(pl.lit(id_)))
    return table.select(rule=pl.coalesce(proven)).to_series()
