"""Time by line of the program, function and op: what the page's icicle draws."""

from __future__ import annotations

from typing import Any

import polars as pl

from tflogscope.model.common.frames import first_of_each
from tflogscope.model.run import Run
from tflogscope.model.slices.own_times import own_times
from tflogscope.model.slices.preparations import MODE
from tflogscope.views.document import Node, Paragraph, Picture, Section
from tflogscope.views.markup import joined
from tflogscope.views.report.pieces import filled

_PATHS = 20_000  # that a page holds
_ABOUT = (
    "Each bar called the bars below it; wider bars took longer. Times are sums over all threads."
)


def icicle_section(run: Run) -> list[Node]:
    """The section; a script draws it. None where nothing has a duration."""
    if not run.slices.frame["has_end"].any():
        return []
    title = "Time by line of the program" if run.stacks.height else "Time by function and op"
    drawn = filled("icicle", title=joined(title))
    return [Section(title, [Paragraph(_ABOUT, "hint"), Picture(drawn)], "icicle")]


def icicle_data(run: Run, classes: pl.Series) -> dict[str, Any]:
    """Paths from the outermost frame to the op, the time of each, and the class it is drawn as.

    `classes` are those of `run.drawn.texts`. Keys: names (distinct frames), paths (numbers of
    names), us, classes, estimated (the times are those without the log).
    """
    times, texts = _with_preparations(run), run.drawn.texts
    estimated = times["work_us"].count() > 0
    us = pl.coalesce("work_us", "us") if estimated else pl.col("us").cast(pl.Float64)
    is_call, prepared = pl.col("kind") == "call", pl.col("mode") == MODE
    named = texts.select(  # traces of one function are one
        function=pl.when(is_call).then(pl.coalesce("function", "op")).otherwise("function"),
        name=pl.when(prepared).then("kind").when(~is_call).then(pl.coalesce("kernel", "op")),
    ).with_columns(pl.Series("class", classes))
    ops = times.select("stack", us=us).hstack(named[times["text"]])
    keys = ["stack", "function", "name", "class"]
    summed = ops.group_by(keys, maintain_order=True).agg(pl.col("us").sum())
    summed = summed.filter(pl.col("us") >= 0.5)
    down = [True, *[False] * len(keys)]
    summed = summed.sort("us", *keys, descending=down, nulls_last=True).head(_PATHS)
    frames = run.stacks["frames"].str.split(";").list.reverse().gather(summed["stack"]).to_list()
    numbers: dict[str, int] = {}
    paths = [
        [numbers.setdefault(frame, len(numbers)) for frame in (*(stack or ()), *more) if frame]
        for stack, more in zip(frames, summed.select("function", "name").rows(), strict=True)
    ]
    return {
        "names": [*numbers],
        "lines": sorted({numbers[frame] for stack in frames for frame in stack or ()}),
        "paths": paths,
        "us": summed["us"].round(1).to_list(),
        "classes": summed["class"].to_list(),
        "estimated": estimated,
    }


def _with_preparations(run: Run) -> pl.DataFrame:
    """Own times; those of tracing, passes and compilations below the line that first called."""
    times = own_times(run.slices)
    texts = run.drawn.texts.with_row_index("text")
    keys = ["function", "function_uid"]
    calls = first_of_each(texts.filter(kind="call").drop_nulls("stack"), keys)
    prepared = texts.filter(mode=MODE).select("text", *keys)
    prepared = prepared.join(
        calls.select(*keys, "stack"), on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    drawn = run.drawn.frame.filter(pl.col("text").is_in(prepared["text"].implode()))
    until = pl.col("end_ns").cum_max().shift().over("track").fill_null(0)
    outer = drawn.filter(pl.col("begin_ns") >= until)  # those inside of it are in its time
    took = outer.select("text", took=(pl.col("end_ns") - pl.col("begin_ns")) / 1000)
    timed = prepared.join(took, on="text", maintain_order="left_right").select(
        pl.col("text").cast(times["text"].dtype),
        pl.col("stack").cast(times["stack"].dtype),
        us=pl.col("took").round().cast(pl.Int64),
        work_us=pl.when(times["work_us"].count() > 0).then("took"),
    )
    return pl.concat([times, timed])
