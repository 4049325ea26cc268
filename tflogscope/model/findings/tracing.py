"""Findings about functions: traced again, slow at first, idle between calls."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.model.figures import count_of
from tflogscope.model.findings.evidence import Evidence, Finding, listed, spoken, total

_LEAST_CALLS = 4  # from which on there is a steady state to speak of
_IDLE_SHARE = 0.1  # of the time in calls
_PAUSE = 10  # a gap that many times as long as half of them are is no step's: an epoch ends


def tracing_findings(evidence: Evidence) -> Iterator[Finding]:
    """What the calls of functions, one after the other, tell."""
    calls = evidence.calls.filter(pl.col("function_uid").is_not_null())
    if calls.is_empty():
        return
    yield from _retraced(evidence, calls)
    yield from _first_calls(calls)
    yield from _between(calls)


def _retraced(evidence: Evidence, calls: pl.DataFrame) -> Iterator[Finding]:
    firsts = calls.filter(pl.col("flavour") == "inference").unique(
        ["function", "function_uid"], keep="first", maintain_order=True
    )
    for (function,), traces in firsts.group_by("function", maintain_order=True):
        if traces.height < 2:
            continue
        again = traces.slice(1)
        time = total(again["duration_us"])
        took = "" if time is None else f"; the first calls of the later traces took {spoken(time)}"
        yield Finding(
            "retraced",
            str(function),
            traces.height - 1,
            time,
            f"{function} has {traces.height} traces, or {traces.height} functions have that name: "
            f"{_difference(evidence.nodes, traces)}{took}{_warned(evidence, str(function))}.",
            again["at"].to_list(),
        )


def _difference(nodes: pl.DataFrame, traces: pl.DataFrame) -> str:
    """Which argument the traces differ in, as far as the nodes of their arguments tell."""
    arguments = nodes.filter(pl.col("op") == "_Arg").join(
        traces.select("function", "function_uid"), on=["function", "function_uid"]
    )
    seen = arguments.select(
        "function_uid",
        index=pl.col("attributes").str.extract(r"(?:^|, )index=(\d+)", 1).cast(pl.Int64),
        name=pl.coalesce(
            pl.col("attributes").str.extract(r'_user_specified_name="([^"]*)"', 1), "node"
        ),
        type=pl.col("dtype"),
        shape=pl.col("attributes").str.extract(r"_output_shapes=\[(\[[^\]]*\])", 1),
    ).drop_nulls("index")
    per = seen.group_by("index").agg(
        pl.col("name").first(),
        type=pl.col("type").drop_nulls().unique().sort(),
        shape=pl.col("shape").drop_nulls().unique().sort(),
        traces=pl.col("function_uid").n_unique(),
    )
    if per.is_empty() or (per["traces"] < traces.height).any():
        return "the log does not show all their arguments"
    differing = [
        f"{row['name']}: {listed(row[column])}"
        for row in per.sort("index").to_dicts()
        for column in ("type", "shape")
        if len(row[column]) > 1
    ]
    if differing:
        return f"they differ in {listed(differing)}"
    return "their tensors have the same types and shapes, so a Python value or an object differs"


def _warned(evidence: Evidence, function: str) -> str:
    warnings = evidence.executions.events.messages(
        "retrace_warning", "retrace_warning_absl", "retrace_warning_absl_old"
    )
    named = warnings.filter(pl.col("function") == function)
    return f"; TensorFlow warned of it {count_of(named.height, 'time')}" if named.height else ""


def _first_calls(calls: pl.DataFrame) -> Iterator[Finding]:
    per = (
        calls.drop_nulls("duration_us")
        .group_by("function", "function_uid", maintain_order=True)
        .agg(
            pl.col("at").first(),
            first=pl.col("duration_us").first(),
            later=pl.col("duration_us").slice(1).mean(),
        )
        .filter(pl.col("later").is_not_null())
        .with_columns(more=pl.col("first") - pl.col("later"))
        .filter(pl.col("more") > 0)
        .sort("more", descending=True)
    )
    if per.is_empty():
        return
    slowest = per.row(0, named=True)
    time = float(per["more"].sum())
    together = ""
    if per.height > 1:
        together = f"; of {per.height} functions together, first calls took {spoken(time)} more"
    yield Finding(
        "first-call",
        str(slowest["function"]),
        per.height,
        time,
        f"The first call of {slowest['function']} took {spoken(slowest['first'])}, later ones "
        f"{spoken(slowest['later'])}{together}. That time goes into graph passes and new kernels.",
        per["at"].to_list(),
    )


def _between(calls: pl.DataFrame) -> Iterator[Finding]:
    """Time from the end of a call to the start of the next one of the same function.

    Longer pauses (between epochs, before the next `fit`) are left out.
    """
    name = ["function", "function_uid"]
    gap = pl.col("time") - pl.col("end_time").shift(1).over(name, order_by="at")
    gaps = calls.with_columns(gap=gap)
    gaps = gaps.with_columns(median=pl.col("gap").median().over(name))
    steady = (pl.col("gap") > 0) & (pl.col("gap") <= _PAUSE * pl.col("median"))
    per = (
        gaps.group_by(name, maintain_order=True)
        .agg(
            pl.col("median").first(),
            calls=pl.len(),
            inside=pl.col("duration_us").sum(),
            steps=steady.sum(),
            outside=pl.col("gap").filter(steady).sum(),
            at=pl.col("at").filter(steady),
        )
        .filter(
            (pl.col("calls") >= _LEAST_CALLS)
            & (pl.col("outside") > _IDLE_SHARE * pl.col("inside"))
            & (pl.col("inside") > 0)
        )
    )
    for row in per.to_dicts():
        pauses = row["calls"] - 1 - row["steps"]
        left_out = f"; {count_of(pauses, 'longer pause')} not counted" if pauses else ""
        yield Finding(
            "between-steps",
            row["function"],
            row["steps"],
            float(row["outside"]),
            f"{spoken(row['outside'])} passed between the calls of {row['function']}, which took "
            f"{spoken(row['inside'])} themselves ({row['calls']:,} calls, half of the gaps below "
            f"{spoken(row['median'])}{left_out}).",
            row["at"],
        )
