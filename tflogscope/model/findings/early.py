"""Eager ops in loops that run before a program calls its first function."""

from __future__ import annotations

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.frames import is_among, only, rows
from tflogscope.model.ledger.stretches import read_stretches
from tflogscope.model.pipeline import Evidence
from tflogscope.model.rows.unexpected import is_unexpected

_SHARE = threshold("eager-steady-state.early_share")
_LEAST_TURNS = threshold("eager-steady-state.early_turns")


def early_ops(evidence: Evidence) -> pl.DataFrame:
    """Ops that lines ran again and again before the first call; empty: other loops take more.

    Before it a program makes variables and data, a few of each, which takes little of its time.
    """
    spans = evidence.spans.filter("again", ~pl.col("once"), ~pl.col("is_call"))
    ops = evidence.placed.filter(is_unexpected(after="start"), "before_calls")
    if ops.height < _LEAST_TURNS:
        return ops.clear()
    stack = rows(evidence.lines.of_dispatches, ops["dispatch"])
    ops = ops.with_columns(stack=stack).filter(is_among(ops["at"], spans["at"]))
    ops = ops.filter(pl.col("stack").is_not_null(), pl.len().over("op", "stack") >= _LEAST_TURNS)
    mine = only(spans, is_among(spans["at"], ops["at"]))
    took = mine.select((pl.min_horizontal("gap", "most_gap") + pl.col("work_us")).sum()).item()
    repeated = float(read_stretches(evidence).filter("repeats")["work_us"].sum())
    return ops if took >= _SHARE * repeated else ops.clear()
