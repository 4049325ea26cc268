"""Findings, and how they claim the time that fixing them would save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.frames import Integers, is_among, only, row_with, where
from tflogscope.model.common.intervals import covered
from tflogscope.model.common.names import MERGED
from tflogscope.model.common.origin import command_of
from tflogscope.model.common.source_text import line_with
from tflogscope.model.ledger.owners import Claims
from tflogscope.model.pipeline import Evidence

RUNNING_US = threshold("dispatch.most_running")
AVOIDABLE = object()
"""In the place of a fact: the time that the ledger gives the finding."""
CALLBACK = r"(?:^|;)[^<;][^;]*;<callback>"
"""A frame of the program that Keras' list of callbacks called."""


class Finding(NamedTuple):
    """One finding: its id, what it is about, how much of it, and what fixing it would save in µs.

    `claims`: which time of which threads the ledger is to give it; `time_us` is then the sum of
    what it got, and `repeats_us` what of that is in loops. Others work `time_us` out by
    themselves, or the log does not say it (None). `at` are lines over all sources, from 0. `python`
    is the line of the program where the evidence names it; otherwise those of `at` say it.
    """

    id: str
    subject: str
    amount: int
    time_us: float | None
    at: Sequence[int]
    facts: Mapping[str, Any]
    python: str | None = None
    claims: Claims = ()
    repeats_us: float | None = None


def claim_spans(
    spans: pl.DataFrame, *, gap: pl.Expr | None = None, op: pl.Expr | None = None
) -> pl.DataFrame:
    """Claim so many µs of the gap before each of these spans, and of the op or call itself."""
    parts = [
        spans.select("thread", begin=begin, end=end, us=us.cast(pl.Float64))
        for begin, end, us in (("since", "begin", gap), ("begin", "end", op))
        if us is not None
    ]
    return pl.concat(parts)


def total(microseconds: pl.Series) -> float | None:
    """A sum; None if nothing is known."""
    return float(microseconds.sum()) if microseconds.count() else None


def most(values: pl.Series) -> list[str]:
    """The distinct values, those that occur most first."""
    counts = values.drop_nulls().str.strip_prefix(MERGED).alias("value").value_counts()
    return counts.sort("count", "value", descending=[True, False])["value"].to_list()


def claim_overhead(evidence: Evidence, at: pl.Series, *, of_keras: bool) -> pl.DataFrame:
    """Claim what the program would have spent less had a graph run these eager ops.

    Their wall time, with Python and TensorFlow's dispatch in front of each, less what kernels
    took: these run in a graph as well. Long gaps are the program's own Python code, or Keras'
    (`of_keras`). All that the ops took where the log doesn't say what a record costs.
    """
    mine = only(evidence.spans, is_among(evidence.spans["at"], at))
    if evidence.costs.price is None:
        return claim_spans(mine, op=pl.lit(None))
    # Before the first op after a call Keras' loop may have run.
    of_program = pl.col("is_python") & (pl.col("after_call") | pl.lit(not of_keras))
    # Of a single gap that is longer the program paused.
    around = pl.when(~of_program).then(pl.min_horizontal("gap", "most_gap")).otherwise(0.0)
    # A first run makes the kernel, which a graph makes as well.
    running = (pl.col("work_us") - pl.col("cost")).clip(0, RUNNING_US)
    return claim_spans(mine, gap=around, op=running)


def claim_nodes(
    evidence: Evidence, definitions: Integers, less: float
) -> tuple[float | None, list[pl.DataFrame]]:
    """What calls take less if nodes (rows of `definitions`) take so many µs less; claims of it."""
    frame = evidence.executions.frame
    frame = frame.hstack([evidence.costs.known("steady_us").alias("us")])
    ran = only(frame, is_among(frame["definition"], definitions))
    ran = _with_calls_around(evidence, ran.drop_nulls(["definition", "end_time"]))
    less *= waited_for(ran)
    us = pl.coalesce("us", pl.col("end_time") - pl.col("time"))  # a first run may make kernels
    per = ran.group_by("call").agg(us=us.sum())
    claim = claim_in_calls(evidence, per)
    if not less or claim.is_empty():
        return less or None, []
    return less, [claim.with_columns(us=less * pl.col("us") / pl.col("us").sum())]


def _with_calls_around(evidence: Evidence, ran: pl.DataFrame) -> pl.DataFrame:
    """Runs of nodes with the call that each is of; those of none are left out.

    A loop over a dataset in a function runs its body on threads of tf.data, while a call waits.
    """
    if not ran["call"].null_count():
        return ran
    calls = evidence.calls.filter(~pl.col("nested")).select("begin", "end", around="call")
    calls = calls.drop_nulls().sort("begin")
    ran = ran.sort("time").join_asof(calls, left_on="time", right_on="begin")
    around = pl.when(pl.col("time") < pl.col("end")).then("around").cast(pl.UInt32)
    return ran.with_columns(pl.coalesce("call", around).alias("call")).drop_nulls("call")


def definitions_of(evidence: Evidence, nodes: pl.DataFrame) -> Integers:
    """The rows of definitions that are of these nodes: node, inputs, attributes."""
    same = ["node", "inputs", "attributes"]
    definitions = evidence.executions.runs.definitions[same]
    return where(pl.Series(row_with(definitions, nodes[same]) >= 0))


def waited_for(ran: pl.DataFrame) -> float:
    """What calls waited for runs of nodes, of what these add up to on all threads."""
    ran = ran.drop_nulls("end_time")
    begin, end = ran["time"].to_numpy(), ran["end_time"].to_numpy()
    if not (took := (end - begin).sum()):
        return 1.0
    return float(covered(begin, end, np.array([begin.min(), end.max()])).sum() / took)


def claim_in_calls(evidence: Evidence, per: pl.DataFrame) -> pl.DataFrame:
    """Claim so many µs of each call that has ended: `per` has call, us."""
    calls = evidence.calls.filter(~pl.col("nested")).join(per, on="call", maintain_order="left")
    return calls.select("thread", "begin", "end", pl.col("us").cast(pl.Float64)).drop_nulls()


def line_that_sets(names: Sequence[str], evidence: Evidence) -> str | None:
    """The line of the program that makes a setting of one of these names, the first one found."""
    if not names:
        return None
    named, recorded_as = command_of(evidence.recorded_as), evidence.recorded_as or {}
    files = evidence.lines.python.str.replace(r":\d+$", "").unique(maintain_order=True).to_list()
    return line_with(names, [*dict.fromkeys(named + files)], recorded_as)
