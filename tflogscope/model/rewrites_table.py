"""The `rewrites` table: every rewrite that the log shows, and whether it ever ran."""

from __future__ import annotations

import polars as pl

from tflogscope.grammar.rewriters import BY_ID
from tflogscope.grammar.tables import as_table
from tflogscope.model.executions import Executions, with_places
from tflogscope.model.instantiations import Instantiations
from tflogscope.model.names import REMAPPER_KERNELS, WRAPPED, function_columns, wrapped_op


def rewrites_table(
    executions: Executions, instantiations: Instantiations, nodes: pl.DataFrame
) -> pl.DataFrame:
    """The `rewrites` table: every rewrite to a kernel of oneDNN, or of a plug-in, in the log.

    `nodes` is a frame of `graph_nodes`.
    """
    rows = [
        _by_layout_pass(executions, instantiations),
        _by_registry(executions),
        _by_remapper(nodes),
        _by_plugins(instantiations.plugin_rewrites, nodes),
    ]
    table = pl.concat(rows).sort("at", maintain_order=True)
    names = function_columns(pl.col("name"))
    placed = with_places(executions.spans, table).with_columns(
        function=pl.when(pl.col("wrapped_op").is_null()).then(names["function"]),
        function_uid=names["function_uid"],
    )
    return as_table("rewrites", placed)


def _by_layout_pass(executions: Executions, instantiations: Instantiations) -> pl.DataFrame:
    runs = executions.dispatches.runs
    # A wrapped op is instantiated once per dtype and device, each with a handle of its own.
    handles = instantiations.components.select("handle", "span", made="at").sort("made")
    spans_run = runs.sort("at").join_asof(
        handles, left_on="at", right_on="made", by="handle", check_sortedness=False
    )["span"]
    functions_run = pl.concat([runs["function"], executions.steps["name"]]).unique()
    wrapped = pl.col("function").str.contains(WRAPPED)
    return instantiations.rewrites.select(
        "at",
        "node",
        "from_op",
        "to_op",
        name="function",
        wrapped_op=wrapped_op(pl.col("function")),
        by=pl.when(wrapped).then(pl.lit("wrapped")).otherwise(pl.lit("layout")),
        ran=pl.when(wrapped)
        .then(pl.col("span").is_in(spans_run.implode()))
        .otherwise(pl.col("function").is_in(functions_run.implode())),
    ).select(*_REWRITE_COLUMNS)


def _by_registry(executions: Executions) -> pl.DataFrame:
    return (
        executions.dispatches.eager.filter(pl.col("rewrite").is_in(["eager", *BY_ID]))
        .select(
            "at",
            node=pl.lit(None, pl.String),
            from_op="op",
            to_op="kernel",
            name=pl.lit(None, pl.String),
            wrapped_op=pl.lit(None, pl.String),
            by="rewrite",
            ran=pl.lit(True),
        )
        .select(*_REWRITE_COLUMNS)
    )


def _by_remapper(nodes: pl.DataFrame) -> pl.DataFrame:
    """Fusions into `_Mkl*` ops print no line; the kernel made for the node shows them."""
    return (
        nodes.filter(pl.col("kernel").is_in(REMAPPER_KERNELS))
        .select(
            "at",
            "node",
            "name",
            from_op=pl.lit(None, pl.String),
            to_op="kernel",
            wrapped_op=pl.lit(None, pl.String),
            by=pl.lit("remapper"),
            ran=pl.col("ran_at").is_not_null(),
        )
        .select(*_REWRITE_COLUMNS)
    )


def _by_plugins(said: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """Nodes that have a kernel of a plug-in, at the line that says so, and what was said in vain.

    Not every decision has a line; then the kernel made for the node shows it.
    """
    key = ["name", "node"]
    said = said.rename({"function": "name"}).unique(key, keep="last", maintain_order=True)
    ran = nodes.filter(pl.col("rewrite").is_in(list(BY_ID)))
    shown = ran.join(
        said.select(*key, said_at="at"), on=key, how="left", maintain_order="left", nulls_equal=True
    ).select(
        *key,
        at=pl.coalesce("said_at", "at"),
        from_op="op",
        to_op="kernel",
        by="rewrite",
        ran=pl.col("ran_at").is_not_null(),
    )
    vain = said.join(ran, on=key, how="anti", nulls_equal=True).drop_nulls("to_op")
    vain = vain.select(*key, "at", "from_op", "to_op", "by", ran=pl.lit(value=False))
    both = pl.concat([shown.select(vain.columns), vain])
    return both.with_columns(wrapped_op=pl.lit(None, pl.String)).select(*_REWRITE_COLUMNS)


_REWRITE_COLUMNS = ("at", "node", "from_op", "to_op", "name", "wrapped_op", "by", "ran")
