"""Models of Keras that a line of the program builds or compiles again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tflogscope.model.calls.python_functions import KERAS_STEPS
from tflogscope.model.causes.causes import package_of
from tflogscope.model.common.frames import rows
from tflogscope.model.common.once import once
from tflogscope.model.rows.spans import LEAST

if TYPE_CHECKING:
    from tflogscope.model.pipeline import Evidence

_MATRIX = r"_handle_shapes=(\[\[[^\]]*,[^\]]*\]\])"  # of a variable that a function gets


@once
def remade_models(of: Evidence) -> pl.DataFrame:
    """First calls of the steps of models that one line of the program trains, alike in size.

    Each has functions of its own, so that none of these is traced twice. The variables that a
    function gets have the shapes of the model's; those of metrics are no matrices. Models that an
    installed package trains are left out: no program can keep them.

    Columns: those of `Evidence.first_calls`, python, size (its matrices), later (than the first
    one of this size, which is traced in any case), loop (of the program, a number).
    """
    firsts = of.first_calls.filter(
        pl.col("function").is_in(KERAS_STEPS), pl.col("made_by").is_null(), flavour="inference"
    )
    if firsts.height < LEAST:  # most programs: nothing is looked up for them
        texts = {name: pl.lit(None, pl.String) for name in ("python", "size")}
        return firsts.clear().with_columns(**texts, later=False, loop=0)
    size = pl.col("attributes").str.extract(_MATRIX).drop_nulls().sort().str.join(" ")
    sizes = of.nodes.group_by("name").agg(size=size).filter(pl.col("size") != "")
    stacks, stack = of.lines.stacks, of.lines.of_begins(firsts["at"])
    by_program = stacks.select("python", package=package_of(pl.col("frames")))
    steps = firsts.hstack(rows(by_program, stack)).filter(pl.col("package").is_null())
    steps = steps.join(sizes, on="name", maintain_order="left").filter(traces=1)
    alike = ["function", "python", "size"]
    steps = steps.with_columns(later=~pl.struct(alike).is_first_distinct())
    models = pl.col("python_function").n_unique().over(alike)
    steps = steps.drop_nulls("python").filter(models >= LEAST)
    # Lines of one loop take turns.
    lines = steps.group_by("python").agg(begin=pl.min("at"), end=pl.max("at")).sort("begin")
    apart = pl.col("begin") > pl.col("end").shift().cum_max()
    loops = lines.select("python", loop=apart.fill_null(value=False).cum_sum())
    return steps.join(loops, on="python", maintain_order="left")
