"""Folded stacks, a line for each: frames from the outermost, `;` between them, and µs of its own.

Brendan Gregg's flamegraph.pl, inferno, speedscope and others read it
(https://github.com/brendangregg/FlameGraph#2-fold-stacks). Frames are those of the program, where
the log has them, then the graph function, then what ran. Times are sums: what ran at the same time
on several threads adds up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tflogscope.escapes import safe
from tflogscope.exports.trace_arguments import execution_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tflogscope.model.run import Run


_PART_ROWS = 20_000  # written at once


def folded_stacks(run: Run) -> Iterator[bytes]:
    """The pieces of the file, in order.

    Only executions count: tracing, instantiation and compilation do not.
    """
    slices = run.slices.frame.with_row_index("slice").filter(
        pl.col("primitive").is_null() & pl.col("has_end")
    )
    kinds = run.slices.texts.select("kind", "mode", "stack")
    slices = slices.hstack(kinds.select(pl.all().gather(slices["text"])))
    is_call = pl.col("kind") == "call"
    own = slices.join(_own_ns(slices), on="slice").join(_in_nodes(slices), on="call", how="left")
    took = pl.col("end_ns") - pl.col("begin_ns") - pl.col("in_nodes").fill_null(0)
    around = slices.filter(is_call).select("call", around="stack").unique("call")
    timed = own.join(around, on="call", how="left", maintain_order="left").select(
        "text",
        stack=pl.coalesce("stack", "around"),
        us=(pl.when(is_call).then(took).otherwise("own_ns").clip(0) / 1000).round().cast(pl.Int64),
    )
    summed = timed.group_by("text", "stack").agg(pl.col("us").sum()).filter(pl.col("us") > 0)
    lines = _paths(run, summed).group_by("path").agg(pl.col("us").sum()).sort("path")
    for part in lines.iter_slices(_PART_ROWS):
        yield "".join(f"{path} {us}\n" for path, us in part.rows()).encode()


def _own_ns(slices: pl.DataFrame) -> pl.DataFrame:
    """The time of each slice in which nothing that it holds on its track ran: slice, own_ns."""
    edges = pl.concat(
        slices.select("track", "slice", ns=f"{edge}_ns", order=f"{edge}_order", change=pl.lit(step))
        for edge, step in (("begin", 1), ("end", -1))
    ).sort("order")
    edges = edges.with_columns(
        depth=pl.col("change").cum_sum().over("track"),
        lasts=(pl.col("ns").shift(-1) - pl.col("ns")).over("track"),
    )
    opened = edges.filter(pl.col("change") > 0).select("track", "depth", "order", open="slice")
    inside = edges.filter(pl.col("depth") > 0).join_asof(
        opened, on="order", by=["track", "depth"], check_sortedness=False
    )
    return inside.group_by(slice="open").agg(own_ns=pl.col("lasts").sum())


def _in_nodes(slices: pl.DataFrame) -> pl.DataFrame:
    """The time of each call in which a node of it ran: call, in_nodes."""
    nodes = slices.filter(pl.col("mode") == "graph").drop_nulls("call").sort("call", "begin_ns")
    until = pl.col("end_ns").cum_max().shift().over("call").fill_null(0)
    new = (pl.col("end_ns") - pl.max_horizontal("begin_ns", until)).clip(0)
    return nodes.with_columns(new=new).group_by("call").agg(in_nodes=pl.col("new").sum())


def _paths(run: Run, summed: pl.DataFrame) -> pl.DataFrame:
    """Add `path`, the frames of each text below each stack."""
    texts = execution_texts(run.slices.texts).select("name", "function").with_row_index("text")
    stacks = run.stacks["frames"].str.split(";").list.reverse()
    named = summed.join(texts.with_columns(pl.col("text").cast(pl.Int64)), on="text", how="left")
    paths = [
        ";".join(_frame(each) for each in (*(frames or ()), function, name) if each)
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
