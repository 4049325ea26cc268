"""From traced op to oneDNN, or a plug-in: what could be rewritten, what was, what ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tflogscope.model.figures import count_of
from tflogscope.views.markup import Markup, element
from tflogscope.views.pieces import percent, whose
from tflogscope.views.report.sections import cut, paragraph, section
from tflogscope.views.report.tables import Column, table

if TYPE_CHECKING:
    from tflogscope.model.facts import Library, OneDNN, Reason, Summary
    from tflogscope.model.run import Run


_BY_OP = (
    Column("op", "Op", "name"),
    Column("nodes", "Nodes that ran", "count"),
    Column("eligible", "Eligible", "count", "there is something to run for whoever rewrites"),
    Column("rewritten", "Rewritten", "count", "nodes that became kernels of oneDNN or a plug-in"),
    Column("kernels", "Kernels", "list"),
    Column("runs", "Runs rewritten", "count"),
    Column("primitives", "Primitives run", "count"),
    Column("primitive_us", "Time in primitives", "us"),
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
_PROBLEMS = (
    Column("primitive", "Primitive", "name"),
    Column("problem", "Problem", "name", "its shape, as oneDNN writes it"),
    Column("runs", "Runs", "count"),
    Column("us", "Time", "us"),
    Column("mean_us", "Mean", "us"),
    Column("max_us", "Longest", "us"),
    Column("implementations", "Implementations", "list"),
    Column("line", "First line", "line"),
)
_REWRITES = (
    Column(
        "by",
        "By",
        "text",
        "layout pass, eager registry, wrapped op, grappler's remapper, or a plug-in",
    ),
    Column("to_op", "To", "name"),
    Column("count", "Rewrites", "count"),
    Column("never_ran", "Never ran", "count", "their function was made and not used"),
    Column("first_line", "First line", "line"),
)


def onednn(run: Run, said: Summary, notes: list[str], *, full: bool) -> Markup:
    """The way from traced ops to oneDNN, and what ran there."""
    children: list[Markup | None] = []
    names, knows = whose(said.rewriters), said.rewriters.knows
    if run.nodes.height:
        children += [
            _way(run, said),
            _by_op(run, knows),
            _reasons(said.eligible.reasons, knows),
        ]
    if said.rewrites:
        children.append(
            table(
                "rewrites-table",
                f"Rewrites to {names} kernels",
                _REWRITES,
                [vars(each) for each in said.rewrites],
            )
        )
    for library in said.libraries:
        children += _library(library)
    if said.onednn is None and not said.libraries:
        children.append(
            paragraph("No verbose line of oneDNN is in the log: record with ONEDNN_VERBOSE=1.")
        )
    elif said.onednn is not None:
        children += [*_primitives(said.onednn), _problems(run, notes, full=full)]
    return section("onednn", f"From traced op to {names}", *children)


def _problems(run: Run, notes: list[str], *, full: bool) -> Markup | None:
    """What each shape of problem took, the most time first."""
    ran = run.primitives.filter(pl.col("event") == "exec").drop_nulls(["primitive", "problem"])
    if ran.is_empty():
        return None
    took = pl.col("duration_us")
    frame = (
        ran.group_by("primitive", "problem")
        .agg(
            runs=pl.len(),
            us=took.sum(),
            mean_us=took.mean(),
            max_us=took.max(),
            implementations=pl.col("implementation").drop_nulls().unique().sort().str.join(";"),
            line=pl.col("line").min(),
        )
        .sort("us", "primitive", "problem", descending=[True, False, False])
    )
    shown = cut(frame, "problems of primitives", notes, full=full)
    caption = "oneDNN time by shape of the problem"
    return table("problems-table", caption, _PROBLEMS, shown.to_dicts(), tools=True)


def _way(run: Run, said: Summary) -> Markup:
    """Three facts that are not the same: rewritten, run as such a kernel, primitives run."""
    ran = run.nodes.filter((pl.col("executions") > 0) & (pl.col("node").is_not_null()))
    eligible = said.eligible
    runs = int(ran.filter(pl.col("rewrite") != "none")["executions"].sum())
    eager = said.eager.rewritten.executions
    ran_by = {each.library: each.exec_lines for each in said.libraries}
    if said.onednn is not None:
        ran_by |= {"oneDNN": said.onednn.exec_lines}
    steps = [
        ("nodes of graph functions that ran", ran.height),
        (f"of them {said.rewriters.knows}", eligible.nodes),
        ("rewritten", eligible.rewritten),
        ("runs of rewritten nodes", runs),
    ]
    if eager:
        steps.append(("eager dispatches of rewritten ops", eager))
    # A call that ran primitives itself was compiled by XLA.
    by_xla = int(run.ops.filter(pl.col("kind") == "call")["primitives"].sum())
    xla = f", {by_xla:,} in XLA's code" if by_xla else ""
    steps += [(f"primitives run by {name}{xla}", count) for name, count in ran_by.items()]
    items = (
        element("li", element("b", f"{count:,}"), " ", element("span", what))
        for what, count in steps
    )
    return element("ol", *items, class_="way")


def _by_op(run: Run, knows: str) -> Markup:
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
    caption = f"Ops of graph functions that {knows}"
    return table("eligible-table", caption, _BY_OP, joined.to_dicts(), tools=True)


def _reasons(reasons: list[Reason], knows: str) -> Markup | None:
    if not reasons:
        return None
    rows = [
        {**vars(row), "ops": ", ".join(f"{op.op} {op.nodes:,}" for op in row.ops)}
        for row in reasons
    ]
    caption = f"Why nodes that {knows} stayed as they were"
    return table("reasons-table", caption, _REASONS, rows)


def _library(said: Library) -> list[Markup | None]:
    """What a plug-in's own library ran; shares only where its lines have times."""
    whole = said.exec_us
    rows = [
        {**vars(row), "share": "" if whole is None else percent(row.us or 0, whole)}
        for row in said.implementations
    ]
    name = said.library
    links = ", ".join(f"{count:,} {link}" for link, count in said.links.items())
    text = f"{name}: {count_of(said.exec_lines, 'primitive')} ran. Which op ran them: {links}."
    caption = f"{name} by primitive and implementation"
    id_ = f"primitives-{name.lower()}-table"
    return [paragraph(text), table(id_, caption, _PRIMITIVES, rows, tools=True)]


def _primitives(said: OneDNN) -> list[Markup | None]:
    whole = said.exec_us
    rows = [{**vars(row), "share": percent(row.us or 0, whole)} for row in said.implementations]
    links = ", ".join(
        f"{count:,} {'not known' if link == 'none' else link}" for link, count in said.links.items()
    )
    isa = f" The CPU: {said.header.isa}." if said.header.isa else ""
    text = f"{count_of(said.exec_lines, 'primitive')} ran. Which op ran them: {links}.{isa}"
    shown = table(
        "primitives-table",
        "oneDNN time by primitive and implementation",
        _PRIMITIVES,
        rows,
        tools=True,
    )
    return [paragraph(text), shown if rows else None]
