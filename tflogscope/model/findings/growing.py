"""Tensors that grow in a loop of eager ops, a concatenation in each turn."""

from __future__ import annotations

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.pipeline import Evidence

_GROWS = threshold("eager-steady-state.grows")
_OTHERS_GROW = threshold("eager-steady-state.others_grow")
_LEAST_GROWN = threshold("eager-steady-state.least_grown")
_CONCAT = "ConcatV2"  # core/kernels/concat_op.cc copies all inputs


def grown_spans(evidence: Evidence, ops: pl.DataFrame) -> pl.DataFrame:
    """The spans of concatenations that take longer and longer: each copies all earlier results.

    An op that takes longer as well reads these results in each turn, which needs them in one
    tensor, or the machine is busier. Nothing then says what the concatenations could save.
    """
    of_loop = pl.col("at").is_between(ops["at"].min(), ops["at"].max())
    spans = evidence.spans.filter(of_loop, thread=ops["thread"][0])
    quarter = pl.int_range(pl.len()).over("op") * 4 // pl.len().over("op")
    per = spans.group_by("op", quarter=quarter).agg(pl.col("work_us").median(), runs=pl.len())
    work = pl.col("work_us").sort_by("quarter")
    rise = per.group_by("op").agg(
        rises=(work.diff().drop_nulls() > 0).all(),
        grows=work.last() >= _GROWS * work.first(),
        more=work.last() - work.first(),
        runs=pl.col("runs").sum(),
    )
    grows = pl.col("rises") & pl.col("grows") & (pl.col("runs") >= _LEAST_GROWN)
    mine = float(rise.filter(grows, op=_CONCAT)["more"].sum())
    others = rise.filter(pl.col("op") != _CONCAT, pl.col("more") > _OTHERS_GROW * mine)
    grown, eager = spans.filter(op=_CONCAT), spans.filter(~pl.col("is_call"))
    whole = eager.select((pl.col("gap") + pl.col("work_us")).sum()).item()
    most_of_it = mine and 2 * grown["work_us"].sum() > whole
    return grown if most_of_it and others.is_empty() else spans.clear()
