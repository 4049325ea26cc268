"""Tables of the contract: `ops`, `nodes`, `functions`, `primitives` and `rewrites`.

What ran as which kernel, inside which function, and who rewrote it.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.events.onednn_header import VERSION
from tflogscope.grammar.rewriters import BY_ID
from tflogscope.grammar.tables import as_table
from tflogscope.model.common.figures import counted, known_sum, rounded, summed
from tflogscope.model.common.frames import (
    among,
    first_of_each,
    first_with,
    last_before,
    looked_up,
    only,
    rows,
)
from tflogscope.model.common.intervals import newly_covered
from tflogscope.model.common.names import REMAPPER_KERNELS, WRAPPED, function_columns, wrapped_op
from tflogscope.model.common.pairing import HALF, pair
from tflogscope.model.executions.executions import with_places
from tflogscope.model.pipeline import Evidence
from tflogscope.model.reasons.plugins import plugins_of
from tflogscope.model.rows.timeline import Timeline


def ops_table(of: Evidence) -> pl.DataFrame:
    """The `ops` table: one row per (mode, kind, op, kernel, rewrite), the most steady first."""
    executions, costs = of.executions, of.costs.of_executions
    frame = executions.frame[["signature", "at", "status", "duration_us"]].hstack(costs)
    duration = pl.col("duration_us").filter(pl.col("status") != "dead")
    grouped = frame.group_by("signature").agg(
        **counted(),
        mean_us=rounded(duration.mean()),
        min_us=duration.min(),
        p50_us=duration.quantile(0.5, "nearest").cast(pl.Int64),
        p95_us=duration.quantile(0.95, "nearest").cast(pl.Int64),
        max_us=duration.max(),
    )
    grouped = grouped.with_columns(rounded(pl.col(costs.columns)))
    ran = of.linked.lines.drop_nulls("execution")
    signature = executions.signature[ran["execution"]]
    primitives = ran.group_by(signature=signature).agg(
        primitives=pl.len().cast(pl.UInt32), primitive_us=summed("duration_us")
    )
    implementations = _distinct(signature, ran["implementation"], "implementations")
    more = (executions.signatures, primitives, implementations, _lines(of.timeline))
    for part in (*more, *_asked_for(of.timeline)):
        place = first_with(part["signature"].to_numpy(), executions.signatures.height)
        columns = rows(part.drop("signature"), place[grouped["signature"].to_numpy()])
        grouped = grouped.hstack(columns)
    table = grouped.sort("steady_us", "at", descending=[True, False], nulls_last=True)
    placed = with_places(executions.spans, table)
    return as_table(
        "ops", placed.with_columns(pl.col("primitives").fill_null(0), first_line="line")
    )


def _asked_for(timeline: Timeline) -> Iterator[pl.DataFrame]:
    """The functions, and then the causes, of each signature."""
    executions = timeline.executions
    for name in ("function", "cause"):
        # Numbers of what is different: a node runs thousands of times.
        _, values = timeline.column(name)
        values = values.cast(pl.String)
        rank = values.rank("dense").cast(pl.Int64).fill_null(0)
        key = pair(executions.signature, rank[executions.asked]).unique()
        place = first_with(rank.to_numpy(), len(rank) + 1)
        texts = rows(values, place[(key % HALF).to_numpy()])
        yield _distinct((key // HALF).cast(pl.Int32).alias("signature"), texts, f"{name}s")


def _lines(timeline: Timeline) -> pl.DataFrame:
    """The line that asked for most of a signature's steady time: python, python_executions."""
    lines = timeline.columns("signature", "status", "stack", "steady_us")
    alive = only(lines, lines["stack"].is_not_null() & (lines["status"] != "dead"))
    # By number first: several stacks have one line.
    of_stacks = alive.group_by("signature", "stack").agg(pl.col("steady_us").sum(), runs=pl.len())
    of_stacks = of_stacks.with_columns(timeline.lines.named(of_stacks["stack"]).alias("python"))
    of_lines = of_stacks.group_by("signature", "python").agg(
        rounded(pl.col("steady_us").sum()), python_executions=pl.col("runs").sum().cast(pl.UInt32)
    )
    order = ["steady_us", "python_executions", "python"]
    of_lines = of_lines.sort(order, descending=[True, True, False]).drop("steady_us")
    return first_of_each(of_lines, "signature")


def _distinct(signatures: pl.Series, texts: pl.Series, name: str) -> pl.DataFrame:
    """The distinct texts of each signature, sorted and `;`-joined."""
    pairs = pl.DataFrame([signatures, texts.cast(pl.String).alias(name)]).drop_nulls().unique()
    # Most have one. To join those of a group takes some hundred bytes.
    alone = pairs["signature"].is_unique()
    several = only(pairs, ~alone).sort(name)
    joined = several.group_by("signature").agg(pl.col(name).str.join(";"))
    return only(pairs, alone).vstack(joined)


# ---- what ran inside graph functions -------------------------------------------------------------


def nodes_table(of: Evidence) -> pl.DataFrame:
    """The `nodes` table: one row per node, with the reason why it stayed as it was."""
    nodes, lines = of.graph_nodes, of.lines
    table = nodes.with_columns(
        eligible=of.reasons.eligible,
        reason=of.reasons.names,
        python=lines.named(lines.of_nodes(nodes["name"], nodes["node"])),
        **function_columns(pl.col("name")),
    )
    return as_table("nodes", with_places(of.events.spans, table))


def functions_table(of: Evidence) -> pl.DataFrame:
    """The `functions` table: one row per graph function that was instantiated, called or run."""
    making = newly_covered(pl.col("time"), pl.col("end_time"), "function")
    instantiated = of.instantiations.spans.lazy().filter(~pl.col("function").str.contains(WRAPPED))
    spans = instantiated.select("at", name="function", made_at="at", making=making)
    calls = of.executions.calls.select("at", "name", called=pl.lit(value=True), took="duration_us")
    calls = calls.hstack(rows(of.costs.of_executions, of.executions.calls["row"]))
    run = of.executions.steps[["at", "name"]].lazy().drop_nulls()
    made, took = pl.col("made_at").is_not_null(), pl.col("took")
    ran = (
        of.nodes.lazy()
        .group_by("function", "function_uid")
        .agg(
            nodes=pl.len(),
            eligible_nodes=pl.col("eligible").sum(),
            rewritten_nodes=(pl.col("rewrite") != "none").sum(),
        )
    )
    all_timed = made.any() & (pl.col("making").count() == made.sum())
    table = (
        pl.concat([spans, calls.lazy(), run], how="diagonal")
        .group_by("name")
        .agg(
            pl.col("at", "made_at").min(),
            *map(summed, ("steady_us", "work_us")),
            instantiation_us=pl.when(all_timed).then(pl.col("making").sum()),
            calls=pl.col("called").count(),
            total_us=known_sum(took),
            mean_us=rounded(took.mean()),
        )
        .with_columns(**function_columns(pl.col("name")))
        .join(ran, on=["function", "function_uid"], how="left", nulls_equal=True)
        .sort("at")
        .collect()
    )
    traces = of.same_functions(table["name"])[["name", "traces"]]
    made_line = with_places(of.events.spans, table.select(at=pl.col("made_at").fill_null(0)))
    placed = with_places(of.events.spans, looked_up(table, traces, "name")).with_columns(
        pl.col("nodes", "eligible_nodes", "rewritten_nodes").fill_null(0),
        instantiated_line=pl.when(pl.col("made_at").is_not_null()).then(made_line["line"]),
        first_line="line",
        python=of.lines.named(of.lines.of_functions(table["name"])),
    )
    return as_table("functions", placed)


# ---- primitives: a row for each verbose line -----------------------------------------------------

# What a line says in words, and where in oneDNN, has no column of its own: headers, checks, errors,
# and why an implementation did not fit.
_AUXILIARY = pl.concat_str(
    "auxiliary", "message", "source_location", separator=",", ignore_nulls=True
).replace("", None)


def primitives_table(of: Evidence) -> pl.DataFrame:
    """The `primitives` table. Durations are in µs."""
    events, links = of.events, of.linked.links
    named = pl.when(pl.col("event") == "info").then(pl.col("message").str.extract(VERSION, 1))
    # A plug-in has a oneDNN of its own. After the headers of both, a line may be of either.
    mixed = named.is_first_distinct() & named.is_not_null()
    sure = (mixed.cum_sum() < 2) | pl.lit(not plugins_of(events).working)
    execution = links["execution"].cast(pl.UInt32)
    ran_at = of.executions.frame["at"].gather(execution)
    ran = with_places(events.spans, pl.DataFrame({"at": ran_at.fill_null(0)}))
    is_exec, is_header = pl.col("event") == "exec", pl.col("event") == "info"
    table = events.primitives.with_columns(
        time=(pl.col("time") + events.utc_offset).cast(pl.Datetime("us")),
        # oneDNN prints its header before the first line, but create_nested lines may precede it.
        onednn_version=pl.when(
            ~pl.col("marker").is_in(list(BY_ID)).fill_null(value=False) & (sure | is_header)
        ).then(named.forward_fill().backward_fill()),
        auxiliary=_AUXILIARY,
        timeline_line=ran["line"].set(ran_at.is_null(), None),
        link=pl.when(is_exec).then(links["link"]),
        python=of.lines.named(of.lines.of_executions.gather(execution)),
    )
    return as_table("primitives", with_places(events.spans, table))


# ---- rewrites: each that the log shows, and whether it ever ran ----------------------------------


def rewrites_table(of: Evidence) -> pl.DataFrame:
    """The `rewrites` table: every rewrite to a kernel of oneDNN, or of a plug-in, in the log."""
    frames = [
        _by_layout_pass(of),
        _by_registry(of),
        *_by_remapper(of.graph_nodes),
        *_by_plugins(of.instantiations.plugin_rewrites, of.graph_nodes),
    ]
    table = pl.concat(frames, how="diagonal").sort("at", maintain_order=True)
    names = function_columns(pl.col("name"))
    named = table.with_columns(
        function=pl.when(pl.col("wrapped_op").is_null()).then(names["function"]),
        function_uid=names["function_uid"],
    )
    return as_table("rewrites", with_places(of.events.spans, named))


def _by_layout_pass(of: Evidence) -> pl.DataFrame:
    runs, instantiations = of.executions.dispatches.runs, of.instantiations
    # A wrapped op is instantiated once per dtype and device, each with a handle of its own.
    made = instantiations.components
    span = rows(made["span"], last_before(runs[["at", "handle"]], made[["at", "handle"]]))
    functions_run = pl.concat([runs["function"], of.executions.steps["name"]])
    function = pl.col("function")
    wrapped = function.str.contains(WRAPPED)
    return instantiations.rewrites.select(
        "at",
        "node",
        "from_op",
        "to_op",
        name="function",
        wrapped_op=wrapped_op(function),
        by=pl.when(wrapped).then(pl.lit("wrapped")).otherwise(pl.lit("layout")),
        ran=pl.when(wrapped)
        .then(among(pl.col("span"), span))
        .otherwise(among(function, functions_run)),
    )


def _by_registry(of: Evidence) -> pl.DataFrame:
    eager = of.executions.dispatches.eager
    rewritten = eager.filter(pl.col("rewrite").is_in(["eager", *BY_ID]))
    return rewritten.select("at", from_op="op", to_op="kernel", by="rewrite", ran=pl.lit(True))


def _by_remapper(nodes: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Fusions into `_Mkl*` ops print no line; the kernel made for the node shows them."""
    fused = nodes.filter(pl.col("kernel").is_in(REMAPPER_KERNELS))
    if fused.height:
        ran = pl.col("ran_at").is_not_null()
        yield fused.select("at", "node", "name", to_op="kernel", by=pl.lit("remapper"), ran=ran)


def _by_plugins(said: pl.DataFrame, nodes: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Nodes that have a kernel of a plug-in, at the line that says so, and what was said in vain.

    Not every decision has a line; then the kernel made for the node shows it.
    """
    key = ["name", "node"]
    ran = nodes.filter(pl.col("rewrite").is_in(list(BY_ID)))
    if said.is_empty() and ran.is_empty():
        return
    said = said.rename({"function": "name"}).unique(key, keep="last", maintain_order=True)
    shown = ran.join(
        said.select(*key, said_at="at"), on=key, how="left", maintain_order="left", nulls_equal=True
    )
    yield shown.select(
        *key,
        at=pl.coalesce("said_at", "at"),
        from_op="op",
        to_op="kernel",
        by="rewrite",
        ran=pl.col("ran_at").is_not_null(),
    )
    vain = said.join(ran, on=key, how="anti", nulls_equal=True).drop_nulls("to_op")
    yield vain.select(*key, "at", "from_op", "to_op", "by", ran=pl.lit(value=False))
