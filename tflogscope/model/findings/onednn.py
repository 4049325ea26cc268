"""Findings about oneDNN: what it did not run, and what it ran badly."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.events.onednn_header import header_facts
from tflogscope.model.figures import count_of
from tflogscope.model.findings.evidence import Evidence, Finding, listed, most, spoken, total
from tflogscope.model.links.linked import REFERENCE
from tflogscope.model.reasons.rules import NOTHING, RULES

# Where bfloat16 pays: the ops of core/grappler/optimizers/auto_mixed_precision_lists.h,
# AutoMixedPrecisionListsOnednnBf16::AllowList, that take most of the time.
_BFLOAT16_OPS = r"MatMul|Conv2D|Conv3D|Einsum"
_BFLOAT16_CPU = r"(?i)bfloat16|bf16|amx"


def onednn_findings(evidence: Evidence) -> Iterator[Finding]:
    """What the nodes and the lines of oneDNN tell."""
    yield from _not_rewritten(evidence)
    lines = evidence.linked.lines
    if lines.height:
        yield from _reorders(evidence, lines)
        yield from _reference(lines)
        yield from _bfloat16(evidence)


def _not_rewritten(evidence: Evidence) -> Iterator[Finding]:
    """Nodes that stayed as they were for a reason that a program, or its user, can change."""
    left = evidence.nodes.filter(pl.col("eligible") & pl.col("reason").is_not_null())
    for (reason,), nodes in left.group_by("reason", maintain_order=True):
        advice = [
            RULES[rule].change for rule in nodes["rule"].unique(maintain_order=True) if rule >= 0
        ]
        if advice and all(change.startswith(NOTHING) for change in advice):
            continue
        time, runs = total(nodes["total_us"]), int(nodes["executions"].sum())
        took = "" if time is None else f", {spoken(time)}"
        found = count_of(nodes.height, "node")
        stayed = "stayed as it was" if nodes.height == 1 else "stayed as they were"
        off = reason == "onednn-off"
        why = "oneDNN is off" if off else str(reason)
        yield Finding(
            "onednn-off" if off else "not-rewritten",
            str(reason),
            nodes.height,
            time,
            f"{found} that oneDNN could run {stayed}, {why} "
            f"({count_of(runs, 'run')}{took}): {most(nodes['op'])}.",
            nodes["ran_at"].to_list(),
            "" if off else " ".join(advice),
        )


def _reorders(evidence: Evidence, lines: pl.DataFrame) -> Iterator[Finding]:
    """Nodes whose reorders took longer than the primitives that they were made for."""
    frame = evidence.executions.frame
    linked = lines.drop_nulls("execution")
    definition = frame["definition"].gather(linked["execution"].cast(pl.UInt32))
    reorder = pl.col("primitive") == "reorder"
    per = (
        linked.with_columns(definition=definition)
        .drop_nulls("definition")
        .group_by("definition")
        .agg(
            reorders=reorder.sum(),
            reorder_us=pl.col("duration_us").filter(reorder).sum(),
            rest_us=pl.col("duration_us").filter(~reorder).sum(),
            at=pl.col("at").filter(reorder).min(),
        )
        .filter((pl.col("reorder_us") > pl.col("rest_us")) & (pl.col("rest_us") > 0))
        .sort("reorder_us", "definition", descending=[True, False])
    )
    if per.is_empty():
        return
    names = evidence.executions.runs.definitions["node"].gather(per["definition"].cast(pl.UInt32))
    time = float(per["reorder_us"].sum())
    yield Finding(
        "reorders",
        names[0] or "?",
        int(per["reorders"].sum()),
        time,
        f"Reorders of {count_of(per.height, 'node')} took {spoken(time)}, what they are for "
        f"{spoken(float(per['rest_us'].sum()))}: {listed(names.to_list())}.",
        per["at"].to_list(),
    )


def _reference(lines: pl.DataFrame) -> Iterator[Finding]:
    slow = lines.filter(pl.col("implementation").str.contains(REFERENCE))
    if slow.is_empty():
        return
    kinds = pl.format("{} {}", "primitive", "implementation").alias("kind")
    time = total(slow["duration_us"])
    yield Finding(
        "reference-implementation",
        slow["primitive"][0],
        slow.height,
        time,
        f"{count_of(slow.height, 'primitive')} ran reference code in {spoken(time)}: "
        f"{most(slow.select(kinds)['kind'])}.",
        slow["at"].to_list(),
    )


def _bfloat16(evidence: Evidence) -> Iterator[Finding]:
    isa = header_facts(evidence.executions.events.primitives).isa
    if isa is None or not pl.Series([isa]).str.contains(_BFLOAT16_CPU).item():
        return
    nodes = evidence.nodes.filter(
        (pl.col("dtype") == "DT_FLOAT")
        & (pl.col("rewrite") != "none")
        & pl.col("op").str.contains(_BFLOAT16_OPS)
    )
    if nodes.is_empty():
        return
    time = total(nodes["total_us"])
    took = "" if time is None else f" and took {spoken(time)}"
    yield Finding(
        "bfloat16",
        isa,
        nodes.height,
        time,
        f"{count_of(nodes.height, 'node')} ran in float32{took}, on a CPU with {isa}: "
        f"{most(nodes['op'])}.",
        nodes["ran_at"].to_list(),
    )
