"""The `ops` table: executions by (mode, kind, op, kernel, rewrite)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.tables import as_table
from tflogscope.model.executions import with_places
from tflogscope.model.figures import rounded, summed
from tflogscope.model.links.linked import Linked
from tflogscope.model.pairing import HALF, pair
from tflogscope.model.timeline import Timeline


def ops_table(timeline: Timeline, linked: Linked) -> pl.DataFrame:
    """The `ops` table: one row per (mode, kind, op, kernel, rewrite), the most work first."""
    executions = timeline.executions
    alive = pl.col("status") != "dead"
    duration = pl.col("duration_us").filter(alive)
    frame = executions.frame.hstack([timeline.costs.of_executions["pace_us"]])
    work = pl.col("pace_us").filter(alive)
    grouped = frame.group_by("signature").agg(
        executions=alive.sum(),
        dead=(~alive).sum(),
        work_us=pl.when(work.count() > 0).then(rounded(work.sum())),
        total_us=pl.when(duration.count() > 0).then(duration.sum()),
        mean_us=rounded(duration.mean()),
        min_us=duration.min(),
        p50_us=duration.quantile(0.5, "nearest").cast(pl.Int64),
        p95_us=duration.quantile(0.95, "nearest").cast(pl.Int64),
        max_us=duration.max(),
        at=pl.col("at").min(),
    )
    ran = linked.lines.drop_nulls("execution")
    signature = executions.signature[ran["execution"]]
    primitives = ran.group_by(signature=signature).agg(
        primitives=pl.len().cast(pl.UInt32), primitive_us=summed("duration_us")
    )
    implementations = _distinct(
        pl.DataFrame([signature.alias("signature"), ran["implementation"]]), "implementations"
    )
    table = (
        executions.signatures.join(grouped, on="signature")
        .join(primitives, on="signature", how="left")
        .join(implementations, on="signature", how="left")
        .join(_lines(timeline), on="signature", how="left")
    )
    for distinct in _asked_for(timeline):
        table = table.join(distinct, on="signature", how="left")
    table = table.sort("work_us", "at", descending=[True, False], nulls_last=True)
    placed = with_places(executions.spans, table)
    return as_table(
        "ops", placed.with_columns(pl.col("primitives").fill_null(0), first_line="line")
    )


def _asked_for(timeline: Timeline) -> Iterator[pl.DataFrame]:
    """The functions, and then the causes, of each signature."""
    for name in ("function", "cause"):
        # Numbers of what is different: a node runs thousands of times.
        _, values = timeline.column(name)
        number = values.cast(pl.String).rank("dense").cast(pl.Int64).fill_null(0)
        pairs = pair(timeline.executions.signature, number[timeline.executions.asked]).unique()
        texts = pl.DataFrame({"number": number, name: values}).unique("number")
        named = pl.DataFrame({"signature": (pairs // HALF).cast(pl.Int32), "number": pairs % HALF})
        yield _distinct(named.join(texts, on="number").select("signature", name), f"{name}s")


def _lines(timeline: Timeline) -> pl.DataFrame:
    """The line that most of a signature's executions come from: python, python_executions."""
    known = timeline.columns("signature", "status", "python").drop_nulls("python")
    alive = known.filter(pl.col("status") != "dead")
    counted = alive.group_by("signature", pl.col("python").cast(pl.String)).agg(
        python_executions=pl.len().cast(pl.UInt32)
    )
    counted = counted.sort("python_executions", "python", descending=[True, False])
    return counted.unique("signature", keep="first", maintain_order=True)


def _distinct(pairs: pl.DataFrame, name: str) -> pl.DataFrame:
    """The distinct texts of each signature, sorted and `;`-joined."""
    signature, text = pairs.columns
    pairs = pairs.select(signature, pl.col(text).cast(pl.String).alias(name)).drop_nulls().unique()
    # Most have one. To join those of a group takes some hundred bytes.
    alone = pairs[signature].is_unique()
    joined = pairs.filter(~alone).sort(name).group_by(signature).agg(pl.col(name).str.join(";"))
    return pl.concat([pairs.filter(alone), joined])
