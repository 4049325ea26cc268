"""The `rewrites` table: every rewrite that the log shows, and whether it ever ran."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.rewriters import BY_ID
from tflogscope.grammar.tables import as_table
from tflogscope.model.executions import Executions, with_places
from tflogscope.model.frames import among, last_before, rows
from tflogscope.model.instantiations import Instantiations
from tflogscope.model.names import REMAPPER_KERNELS, WRAPPED, function_columns, wrapped_op


def rewrites_table(
    executions: Executions, instantiations: Instantiations, nodes: pl.DataFrame
) -> pl.DataFrame:
    """The `rewrites` table: every rewrite to a kernel of oneDNN, or of a plug-in, in the log.

    `nodes` is a frame of `graph_nodes`.
    """
    found = [
        _by_layout_pass(executions, instantiations),
        _by_registry(executions),
        *_by_remapper(nodes),
        *_by_plugins(instantiations.plugin_rewrites, nodes),
    ]
    table = pl.concat(found, how="diagonal").sort("at", maintain_order=True)
    names = function_columns(pl.col("name"))
    named = table.with_columns(
        function=pl.when(pl.col("wrapped_op").is_null()).then(names["function"]),
        function_uid=names["function_uid"],
    )
    return as_table("rewrites", with_places(executions.spans, named))


def _by_layout_pass(executions: Executions, instantiations: Instantiations) -> pl.DataFrame:
    runs = executions.dispatches.runs
    # A wrapped op is instantiated once per dtype and device, each with a handle of its own.
    made = instantiations.components
    span = rows(made["span"], last_before(runs[["at", "handle"]], made[["at", "handle"]]))
    functions_run = pl.concat([runs["function"], executions.steps["name"]])
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


def _by_registry(executions: Executions) -> pl.DataFrame:
    rewritten = executions.dispatches.eager.filter(pl.col("rewrite").is_in(["eager", *BY_ID]))
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
