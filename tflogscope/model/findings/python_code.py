"""Python code between the eager ops of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from tflogscope.events.onednn_header import VERSION
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.frames import holds, is_among, only
from tflogscope.model.common.intervals import covered_within
from tflogscope.model.findings.eager import eager_training
from tflogscope.model.findings.finding import Finding, claim_spans
from tflogscope.model.findings.gaps import waits_for_threads
from tflogscope.model.ledger.phases import traced
from tflogscope.model.pipeline import Evidence
from tflogscope.model.rows.spans import LEAST

_WORTH = threshold("loop.worth")


def _computes_elsewhere(evidence: Evidence) -> pl.Series:
    """Per span whether primitives that no op called ran before it: those of PyTorch, say.

    Where a log holds one version of oneDNN they are TensorFlow's, in lines that came late.
    """
    versions = evidence.events.primitives["message"].str.extract(VERSION, 1).drop_nulls()
    if versions.n_unique() < 2:
        return pl.repeat(value=False, n=evidence.spans.height, eager=True)
    alone = evidence.linked.lines.filter(pl.col("execution").fill_null(-1) < 0)["at"].sort()
    before = pl.Series(alone.search_sorted(evidence.spans["at"]))
    spans = evidence.spans.select("thread", before=before)
    since = spans.select(holds(pl.col("before").diff().over("thread") > 0))
    return since.to_series()


def python_findings(evidence: Evidence) -> Iterator[Finding]:
    """Long gaps before the same op, again and again, in a loop of eager ops.

    Between calls of functions `between-steps` has them; those in which a function was traced are no
    code of the program's, as where a distributed dataset makes iterators. Between ops of a training
    step that one line of the program asked for, TensorFlow or Keras ran: a tf.function leaves that
    out as well.
    """
    spans = evidence.spans
    if spans.is_empty() or int(spans["is_call"].sum()) >= LEAST:
        return
    # With run_eagerly these gaps are Keras' own code.
    of_keras = evidence.placed["at"].filter(evidence.placed["judged_by"] == "run-eagerly")
    line = evidence.lines.begun_at(spans["at"])
    of_step = is_among(spans["at"], eager_training(evidence)["at"]) & holds(line == line.shift())
    of_others = evidence.placed["at"].filter(evidence.placed["own"])
    left_out = (
        spans["once"]
        | _computes_elsewhere(evidence)
        | waits_for_threads(evidence)
        | is_among(spans["at"], of_others)
        | is_among(spans["at"], of_keras)
        | (covered_within(traced(evidence)[["begin", "end"]], spans[["since", "begin"]]) > 0)
        | of_step
    )
    of_loop = only(spans, spans["again"] & ~left_out)
    long = of_loop.filter("is_python", pl.col("gap") > 0)
    took = float(long["gap"].sum())
    work = float(of_loop["cost"].filter(~of_loop["is_call"]).sum())
    if long.height < LEAST or took <= _WORTH * evidence.loop_time:
        return
    top = long.group_by("before", "op").agg(pl.col("gap").sum(), at=pl.col("at").first())
    first = top.sort("gap", "at", descending=[True, False]).row(0, named=True)
    facts: dict[str, Any] = {"work": work, "before": first["before"], "op": first["op"]}
    at = long.filter((pl.col("op") == first["op"]) & (pl.col("before") == first["before"]))["at"]
    claims = [claim_spans(long, gap=pl.col("gap"))]
    subject = str(first["op"])
    yield Finding("python-overhead", subject, long.height, None, at.to_list(), facts, claims=claims)
