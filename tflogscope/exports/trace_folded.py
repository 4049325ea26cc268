"""Folded stacks, a line for each: frames from the outermost, `;` between them, and µs of its own.

Brendan Gregg's flamegraph.pl, inferno, speedscope and others read it
(https://github.com/brendangregg/FlameGraph#2-fold-stacks). Frames are those of the program, where
the log has them, then the graph function, then what ran. Times are sums: what ran at the same time
on several threads adds up.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.escapes import safe
from tflogscope.exports.trace_arguments import execution_texts
from tflogscope.model.run import Run
from tflogscope.model.slices.own_times import own_times

_PART_ROWS = 20_000  # written at once


def folded_stacks(run: Run) -> Iterator[bytes]:
    """The pieces of the file, in order.

    Only executions count: tracing, instantiation and compilation do not.
    """
    times = own_times(run.slices).drop("work_us")
    summed = times.filter(pl.col("us") > 0)
    lines = _paths(run, summed).group_by("path").agg(pl.col("us").sum()).sort("path")
    for part in lines.iter_slices(_PART_ROWS):
        yield "".join(f"{path} {us}\n" for path, us in part.rows()).encode()


def _paths(run: Run, summed: pl.DataFrame) -> pl.DataFrame:
    """Add `path`, the frames of each text below each stack."""
    texts = execution_texts(run.slices.texts).select("name", "function").with_row_index("text")
    stacks = run.stacks["frames"].str.split(";").list.reverse()
    named = summed.join(texts.with_columns(pl.col("text").cast(pl.Int64)), on="text", how="left")
    paths = [
        ";".join(_frame(part) for part in (*(frames or ()), function, name) if part)
        for frames, function, name in zip(
            stacks.gather(named["stack"]).to_list(),
            named["function"],
            named["name"],
            strict=True,
        )
    ]
    return named.with_columns(path=pl.Series(paths, dtype=pl.String))


def _frame(name: str) -> str:
    return safe(name).replace(";", ",").replace("\n", " ")
