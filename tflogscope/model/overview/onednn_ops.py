"""The per-op table of a log without executions, made of primitives; what each problem took."""

from __future__ import annotations

from typing import Any

import polars as pl

from tflogscope.errors import UsageError, did_you_mean
from tflogscope.events.onednn import MKL_EVENT
from tflogscope.model.common.verbose import MADE

_RAN = ["exec", "graph:exec", MKL_EVENT]
_KIND = {"exec": "primitive", "graph:exec": "partition", MKL_EVENT: "mkl"}
_LINES = 6  # of evidence
_SHOWN = ["implementation", "prop_kind", "memory_descriptors", "attributes", "auxiliary", "problem"]


def primitive_ops(primitives: pl.DataFrame, empty: pl.DataFrame) -> pl.DataFrame:
    """Rows as in the table of ops, `empty`, by primitive and implementation, the most time first.

    Partitions of the graph API hold the time of the primitives in them.
    """
    us = pl.col("duration_us")
    ran = primitives.filter(pl.col("event").is_in(_RAN))
    summed = (
        ran.group_by("event", "primitive", "implementation")
        .agg(
            executions=pl.len(),
            dead=pl.lit(0),
            total_us=us.sum().round(),
            mean_us=us.mean().round(3),
            min_us=us.min().round(),
            p50_us=us.quantile(0.5).round(),
            p95_us=us.quantile(0.95).round(),
            max_us=us.max().round(),
            primitives=pl.len(),
            primitive_us=us.sum().round(3),
            first_line=pl.col("line").first(),
        )
        .sort("primitive_us", "first_line", descending=[True, False])
        .with_columns(
            kind=pl.col("event").replace_strict(_KIND),
            op="primitive",
            kernel="implementation",
            rewrite=pl.lit("none"),
            implementations="implementation",
        )
    )
    missing = [pl.lit(None).alias(name) for name in empty.columns if name not in summed.columns]
    table = summed.with_columns(missing).select(empty.columns)
    return table.cast(empty.schema)


def explain_primitive(primitives: pl.DataFrame, name: str) -> dict[str, Any]:
    """What each problem of a primitive took to make and to run, and what was skipped for it.

    Raises:
        UsageError: the log has no line of it.
    """
    mine = primitives.filter(pl.col("primitive") == name)
    if mine.is_empty():
        names = primitives["primitive"].drop_nulls().unique().sort().to_list()
        raise UsageError("no such primitive in this log", name, did_you_mean(name, names))
    us, event = pl.col("duration_us"), pl.col("event")
    ran = mine.filter(event.is_in(_RAN))
    made = mine.filter(event.str.contains(MADE))
    problems = ran.group_by(_SHOWN, maintain_order=True).agg(
        runs=pl.len(),
        us=us.sum().round(3),
        first_us=us.first(),
        max_us=us.max(),
        lines=pl.col("line").head(_LINES),
    )
    created = made.group_by(_SHOWN).agg(created=pl.len(), created_us=us.sum().round(3))
    joined = problems.join(created, on=_SHOWN, how="left", nulls_equal=True)
    refused = mine.filter(event.str.contains("create:dispatch"))
    reasons = refused.group_by("implementation", reason="auxiliary").agg(
        count=pl.len(), line=pl.col("line").first()
    )
    return {
        "asked": {"primitive": name},
        "runs": ran.height,
        "total_us": round(float(ran["duration_us"].sum() or 0), 3),
        "created": made.height,
        "created_us": round(float(made["duration_us"].sum() or 0), 3),
        "problems": joined.sort("us", descending=True).to_dicts(),
        "refused": reasons.sort("line").to_dicts(),
    }
