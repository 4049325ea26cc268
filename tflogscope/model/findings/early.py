"""Eager ops in loops that call no function: before the first call, and in a layer's `adapt`."""

from __future__ import annotations

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.frames import is_among, only, rows
from tflogscope.model.common.names import NEXT
from tflogscope.model.ledger.stretches import read_stretches
from tflogscope.model.pipeline import Evidence
from tflogscope.model.rows.unexpected import is_unexpected

_SHARE = threshold("eager-steady-state.early_share")
_LEAST_TURNS = threshold("eager-steady-state.early_turns")
_KERAS_OWN = "keras-own"
"""The rule of causes that fits what Keras' own loops ask for."""


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


def adapt_ops(evidence: Evidence) -> pl.DataFrame:
    """Ops that a layer's `adapt` asked for once for each element of its data, or each batch.

    No other loop of Keras asks for an op between two elements and calls no function meanwhile.
    """
    own = evidence.placed.filter(pl.col("rule") == _KERAS_OWN, "own")
    session = evidence.calls["at"].sort().search_sorted(own["at"])
    gets = evidence.placed.filter(pl.col("op").str.contains(NEXT))["at"].sort()
    element = pl.Series("element", gets.search_sorted(own["at"]))
    own = own.with_columns(pl.Series("session", session), element)
    turns = pl.col("element").n_unique().over("op", "session")
    return own.filter(turns >= _LEAST_TURNS)
