"""The time that each kind of execution took itself, by the stack of the program that asked for it.

An execution's own time is that in which nothing that it holds on its track ran; of a call, in which
none of its nodes ran. Times are sums: what ran at the same time on several threads adds up.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.model.common.frames import Integers, first_of_each, looked_up
from tflogscope.model.common.intervals import newly_covered
from tflogscope.model.slices.slices import Slices


def own_times(slices: Slices) -> pl.DataFrame:
    """Sums of own times: text (row of `slices.texts`), stack (null: not known), us, work_us.

    `us` is as printed, `work_us` without the log, estimated: the
    share of an execution's time that its work is goes for its own time, too. It is null where the
    log doesn't show what a record costs. Only executions with an end count.
    """
    frame = slices.frame.filter(pl.col("primitive").is_null() & pl.col("has_end"))
    kinds = slices.texts.select("kind", "mode", "stack")
    frame = frame.hstack(kinds.select(pl.all().gather(frame["text"])))
    is_call = pl.col("kind") == "call"
    measured = looked_up(frame.with_columns(own_ns=_own_ns(frame)), _in_nodes(frame), "call")
    took = pl.col("end_ns") - pl.col("begin_ns") - pl.col("in_nodes").fill_null(0)
    around = first_of_each(frame.filter(is_call).select("call", around="stack"), "call")
    own = pl.when(is_call).then(took).otherwise("own_ns").clip(0) / 1000
    lasted = (pl.col("end_ns") - pl.col("begin_ns")) / 1000
    worked = (pl.col("work_us") / lasted).fill_nan(0)
    timed = looked_up(measured, around, "call").select(
        "text",
        stack=pl.coalesce("stack", "around"),
        us=own.round().cast(pl.Int64),
        work_us=own * worked,
    )
    estimated = pl.col("work_us").count() > 0
    return timed.group_by("text", "stack", maintain_order=True).agg(
        pl.col("us").sum(), pl.when(estimated).then(pl.col("work_us").sum())
    )


def _own_ns(slices: pl.DataFrame) -> Integers:
    """The time of each slice in which nothing that it holds on its track ran, in ns."""
    count = slices.height
    order = pl.concat([slices["begin_order"], slices["end_order"]]).to_numpy()
    ns = pl.concat([slices["begin_ns"], slices["end_ns"]]).to_numpy()
    edge = np.lexsort((order, np.tile(slices["track"].to_numpy(), 2)))
    begins = edge < count
    depth = np.cumsum(np.where(begins, 1, -1))
    # What is open after an edge is what began last at its depth.
    same = np.argsort(depth, kind="stable")
    begun = np.maximum.accumulate(np.where(begins[same], np.arange(len(same)), 0))
    open_ = edge[same][begun] % count
    lasts = np.where(depth > 0, np.diff(ns[edge], append=0), 0)
    return np.bincount(open_, lasts[same], count).astype(np.int64)


def _in_nodes(slices: pl.DataFrame) -> pl.DataFrame:
    """The time of each call in which a node of it ran: call, in_nodes."""
    nodes = slices.filter(mode="graph").drop_nulls("call")
    new = newly_covered(pl.col("begin_ns"), pl.col("end_ns"), "call")
    return nodes.with_columns(new=new).group_by("call").agg(in_nodes=pl.col("new").sum())
