"""From traced op to oneDNN: what could be rewritten, what was, what ran, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from tflogscope.model.figures import count_of
from tflogscope.views.markup import Markup, element
from tflogscope.views.pieces import percent
from tflogscope.views.report.sections import paragraph, section
from tflogscope.views.report.tables import Column, table

if TYPE_CHECKING:
    from tflogscope.model.run import Run

Facts = dict[str, Any]

_BY_OP = (
    Column("op", "Op", "name"),
    Column("nodes", "Nodes that ran", "count"),
    Column("eligible", "Eligible", "count", "oneDNN has something to do there"),
    Column("rewritten", "Rewritten", "count", "nodes that became _Mkl* kernels"),
    Column("kernels", "Kernels", "list"),
    Column("runs", "Runs as oneDNN kernels", "count"),
    Column("primitives", "Primitives run", "count"),
    Column("primitive_us", "Time in oneDNN", "us"),
    Column("reasons", "Reason where not", "list"),
    Column("line", "First line", "line"),
)
_REASONS = (
    Column("reason", "Reason", "name"),
    Column("nodes", "Nodes", "count"),
    Column("executions", "Runs", "count"),
    Column("total_us", "Total", "us"),
    Column("ops", "Ops"),
    Column("first_line", "First line", "line"),
)
_PRIMITIVES = (
    Column("primitive", "Primitive", "name"),
    Column("implementation", "Implementation", "name"),
    Column("count", "Runs", "count"),
    Column("us", "Time", "us"),
    Column("share", "Share of time"),
)
_REWRITES = (
    Column("by", "By", "text", "layout pass, eager registry, wrapped op, or grappler's remapper"),
    Column("to_op", "To", "name"),
    Column("count", "Rewrites", "count"),
    Column("never_ran", "Never ran", "count", "their function was made and not used"),
    Column("first_line", "First line", "line"),
)


def onednn(run: Run, said: Facts) -> Markup:
    """The way from traced ops to oneDNN, and what ran there."""
    children: list[Markup | None] = []
    if run.nodes.height:
        children += [_way(run, said), _by_op(run), _reasons(said["eligible"]["reasons"])]
    if said["rewrites"]:
        children.append(
            table("rewrites-table", "Rewrites to oneDNN kernels", _REWRITES, said["rewrites"])
        )
    if said["onednn"] is None:
        children.append(
            paragraph("No verbose line of oneDNN is in the log: record with ONEDNN_VERBOSE=1.")
        )
    else:
        children += _primitives(said["onednn"])
    return section("onednn", "From traced op to oneDNN", *children)


def _way(run: Run, said: Facts) -> Markup:
    """Three facts that are not the same: rewritten, run as such a kernel, primitives run."""
    ran = run.nodes.filter((pl.col("executions") > 0) & (pl.col("node").is_not_null()))
    eligible = said["eligible"]
    runs = int(ran.filter(pl.col("rewrite") != "none")["executions"].sum())
    eager = said["eager"]["rewritten"]["executions"]
    primitives = None if said["onednn"] is None else said["onednn"]["exec_lines"]
    steps = [
        ("nodes of graph functions that ran", ran.height),
        ("of them the layout pass knows", eligible["nodes"]),
        ("rewritten", eligible["rewritten"]),
        ("runs of rewritten nodes", runs),
    ]
    if eager:
        steps.append(("eager dispatches of rewritten ops", eager))
    if primitives is not None:
        steps.append(("primitives run by oneDNN", primitives))
    items = (
        element("li", element("b", f"{count:,}"), " ", element("span", what))
        for what, count in steps
    )
    return element("ol", *items, class_="way")


def _by_op(run: Run) -> Markup:
    nodes = run.nodes.filter(pl.col("executions") > 0)
    rewritten = pl.col("rewrite") != "none"
    table_ = (
        nodes.group_by("op")
        .agg(
            nodes=pl.len(),
            eligible=pl.col("eligible").fill_null(value=False).sum(),
            rewritten=rewritten.sum(),
            kernels=pl.col("kernel").filter(rewritten).unique().sort().str.join(";"),
            runs=pl.col("executions").filter(rewritten).sum(),
            reasons=pl.col("reason")
            .filter(pl.col("eligible"))
            .drop_nulls()
            .unique()
            .sort()
            .str.join(";"),
            line=pl.col("line").min(),
        )
        .filter((pl.col("eligible") > 0) | (pl.col("rewritten") > 0))
    )
    inside = (
        run.ops.filter((pl.col("mode") == "graph") & (pl.col("kind") == "op"))
        .group_by("op")
        .agg(
            pl.col("primitives").sum(),
            primitive_us=pl.when(pl.col("primitive_us").count() > 0).then(
                pl.col("primitive_us").sum()
            ),
        )
    )
    joined = table_.join(inside, on="op", how="left", nulls_equal=True).sort(
        "primitive_us", "nodes", "op", descending=[True, True, False], nulls_last=True
    )
    caption = "Ops of graph functions that the layout pass knows"
    return table("eligible-table", caption, _BY_OP, joined.to_dicts(), tools=True)


def _reasons(reasons: list[Facts]) -> Markup | None:
    if not reasons:
        return None
    rows = [
        {**row, "ops": ", ".join(f"{op['op']} {op['nodes']:,}" for op in row["ops"])}
        for row in reasons
    ]
    return table(
        "reasons-table", "Why nodes that the layout pass knows stayed as they were", _REASONS, rows
    )


def _primitives(said: Facts) -> list[Markup | None]:
    whole = said["exec_us"]
    rows = [{**row, "share": percent(row["us"], whole)} for row in said["implementations"]]
    links = ", ".join(
        f"{count:,} {'not known' if link == 'none' else link}"
        for link, count in said["links"].items()
    )
    header = said["header"]
    isa = f" The CPU: {header['isa']}." if header.get("isa") else ""
    text = f"{count_of(said['exec_lines'], 'primitive')} ran. Which op ran them: {links}.{isa}"
    shown = table(
        "primitives-table",
        "oneDNN time by primitive and implementation",
        _PRIMITIVES,
        rows,
        tools=True,
    )
    return [paragraph(text), shown if rows else None]
