"""Findings about files of a model that a loop writes or reads."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.figures import spoken
from tflogscope.model.common.frames import holds, is_among
from tflogscope.model.common.names import CHECKPOINTS, SAVING, UPDATES
from tflogscope.model.findings.finding import Finding, claim_spans
from tflogscope.model.pipeline import Evidence
from tflogscope.model.rows.spans import LEAST

_OF_DATA = "Iterator|^Optional"  # core/kernels/data/iterator_ops.cc, optional_ops.cc
_WORTH = threshold("loop.worth")
_MUCH = threshold("checkpoints.most_times")


def checkpoint_findings(evidence: Evidence) -> Iterator[Finding]:
    """Where files were written or read: what is between two calls; without calls the ops alone.

    A thread that makes no calls holds up none (`experimental_enable_async_checkpoint`).
    Keras writes .h5 and .keras files in Python: there the stacks of what it reads say it.
    """
    spans = evidence.spans
    marked = is_among(spans["at"], evidence.asked_by(SAVING))
    spans = spans.with_columns(
        save=pl.col("op").str.contains(CHECKPOINTS), marked=marked
    ).with_columns(last=pl.col("marked").shift().over("thread"))
    written = holds(pl.col("marked") | pl.col("last"))
    by_ops = [int((spans["op"] == op).sum()) for op in ("SaveV2", "RestoreV2")]
    has_ops = max(by_ops) >= LEAST  # else Python writes .h5 and .keras files
    saved, restored = by_ops if has_ops else _count_files(evidence, spans)
    if max(saved, restored) < LEAST:
        return
    if saved < LEAST:  # one that is loaded again and again is no cost of saving
        saved = 0
    # Everything from the last call to the next one is part of it: names and values of variables.
    with_calls = bool(spans["is_call"].any())
    # What a call is behind is there, too: the list of checkpoints is written last.
    spans = spans.with_columns(session=pl.col("session") - pl.col("is_call"))
    session = pl.col("save").any().over("thread", "session")
    # A loop over data that begins or goes on there is not.
    data = pl.col("op").str.contains(_OF_DATA)
    inside = session & ~data if with_calls else pl.col("save")
    op = pl.when("is_call").then(0.0).otherwise("work_us")
    most_gap = pl.min_horizontal("gap", _MUCH * pl.col("usual_gap"))
    most_op = pl.min_horizontal(op, _MUCH * op.median().over("before", "op"))
    loop = pl.col("again") & pl.col("is_call").any().over("thread")
    if with_calls and not has_ops:
        # Python writes such a file in one of many gaps, each between ops that read variables.
        spans = spans.with_columns(spent=pl.col("gap") + op)
        of_file = spans.filter(written).group_by("thread", "session").agg(pl.col("spent").sum())
        usual = float(of_file.select(pl.col("spent").median()).item() or 0.0)
        share = (_MUCH * usual / pl.col("spent").sum().over("thread", "session")).clip(0, 1)
        most_gap, most_op, loop = pl.col("gap") * share, op * share, pl.lit(value=True)
    mine = spans.filter(loop if with_calls else pl.lit(value=True), written | inside)
    took = float(mine.select((most_gap + most_op).sum()).item())
    whole = float(mine.select((pl.col("gap") + op).sum()).item())
    of_loops = mine.filter("again", ~pl.col("once")).select((pl.col("gap") + op).sum()).item()
    others = max(evidence.loop_time - float(of_loops), 0.0)
    if took <= _WORTH * others:
        return
    steps, at = int(spans["is_call"].sum()), spans.filter(pl.col("save") | pl.col("marked"))["at"]
    facts = {
        "saved": saved or None,
        "restored": restored or None,
        "steps": steps or None,
        "capped": spoken(whole) != spoken(took),
        "much": _MUCH,
    }
    subject = ("SaveV2" if saved else "RestoreV2") if has_ops else "Keras"
    claims = [claim_spans(mine, gap=most_gap, op=most_op)]
    count = saved + restored
    yield Finding("checkpoints", subject, count, None, at.to_list(), facts, claims=claims)


def _count_files(evidence: Evidence, spans: pl.DataFrame) -> tuple[int, int]:
    """How often Python began to write a file, or to read one, which then updates variables.

    Where Keras 3 saves an optimizer it makes another one, whose variables are updated, too
    (`get_attr_skipset` of keras/src/saving/saving_lib.py).
    """
    began = ~pl.col("last").fill_null(value=False)
    by_saving = evidence.asked_by(f"^{SAVING}")
    updates = is_among(spans["at"], by_saving) & spans["op"].str.contains(UPDATES)
    files = spans.with_columns(read=updates).filter("marked").group_by(began.cum_sum())
    read = files.agg(pl.col("read").any())["read"]
    return int((~read).sum()), int(read.sum())
