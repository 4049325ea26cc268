"""Causes that a frame of the program's stack proves, in logs with the lines of `record`.

The ops around show most causes. Where neither has a name, a variable of a metric looks like
one of an optimizer; the frame that asked for it shows which it is.
"""

from __future__ import annotations

import polars as pl

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
        mark=pl.col("frames").str.extract(r"^<(\w+)>(?:;|$)"),
        python=pl.col("frames").str.contains(r"(?:^|;)<py_function>(?:;|$)"),
    )
    table = pl.DataFrame({"op": ops, "cause": causes, "row": row}).with_columns(
        frames.select(pl.all().gather(row))
    )
    made = table.filter(pl.col("op") == "VarHandleOp")["row"].drop_nulls().unique()
    proven = [
        pl.when(pl.col("python") & (pl.col("cause") != "constant")).then(pl.lit("python-code"))
    ]
    for mark, id_, only in _PROVEN:
        holds = (pl.col("mark") == mark) & ~pl.col("cause").is_in(_WIDER)
        if only is not None:  # setting one that exists is something else
            holds &= pl.col("op").is_in(only) & pl.col("row").is_in(made.implode())
        proven.append(pl.when(holds).then(pl.lit(id_)))
    return table.select(rule=pl.coalesce(proven)).to_series()
