"""Nodes of graph functions, and kernels of eager ops, which are nodes of one-op functions."""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.model.common.figures import counted, summed
from tflogscope.model.common.frames import first_of_each, row_with, rows
from tflogscope.model.common.names import (
    DTYPE,
    PLUMBING_NODES,
    PLUMBING_OPS,
    WRAPPED,
    op_of_kernel,
    rewrite_of_kernel,
)
from tflogscope.model.common.pairing import HALF, pair
from tflogscope.model.costs.costs import Costs
from tflogscope.model.executions.dispatches import Dispatches
from tflogscope.model.executions.executions import Executions
from tflogscope.model.executions.instantiations import AS_NODES, Instantiations

_TIMES = ("steady_us", "work_us", "total_us")


def graph_nodes(
    executions: Executions, instantiations: Instantiations, costs: Costs
) -> pl.DataFrame:
    """One row per (name of the function, node) that ran or was instantiated, in the log's order.

    `at` is the first line that shows it, `ran_at` the first that runs it.
    """
    ran = _nodes_run(executions, costs).with_columns(ran_at="at")
    kernels = instantiations.kernels.lazy().filter(~pl.col("function").str.contains(WRAPPED))
    both = pl.concat([ran.lazy(), kernels.select(AS_NODES)], how="diagonal")
    both = both.sort("at", maintain_order=True)
    table = both.group_by("name", "node", maintain_order=True).agg(
        pl.col("kernel", "attributes", "inputs").drop_nulls().first(),
        pl.col("executions").sum(),
        pl.col("at", "ran_at").min(),
        *map(summed, _TIMES),
    )
    return table.with_columns(
        rewrite=rewrite_of_kernel(pl.col("kernel")),
        op=op_of_kernel(pl.col("kernel")),
        dtype=pl.col("attributes").str.extract(DTYPE, 1),
    ).collect()


def _nodes_run(executions: Executions, costs: Costs) -> pl.DataFrame:
    """Distinct (function, definition) of graph runs, with executions and sums of times."""
    folding = (pl.col("cause") == "constant-folding").fill_null(False)
    number = pl.col("name").rank("dense").cast(pl.Int64).fill_null(0)
    steps = executions.steps.select("name", number=number, kept=pl.when(~folding).then(number))
    frame = executions.frame
    kept = steps["kept"][frame["step_row"]]  # null for rows of dispatches
    grouped = (
        frame[["at", "duration_us", "status"]]
        .hstack(costs.of_executions)
        .lazy()
        .group_by(key=pair(kept, frame["definition"]))
        .agg(**counted())
        .drop_nulls("key")
        .select(
            "at",
            "executions",
            *_TIMES,
            number=pl.col("key") // HALF,
            definition=(pl.col("key") % HALF).cast(pl.UInt32),
        )
    )
    names = steps.lazy().select("number", "name").unique("number")
    named = grouped.join(names, on="number", how="left").collect()
    nodes = executions.runs.definitions.select("node", "kernel", "attributes", "inputs")
    nodes = nodes[named["definition"]]
    return named[["at", "executions", *_TIMES, "name"]].hstack(nodes)


def eager_kernels(instantiations: Instantiations) -> pl.DataFrame:
    """One row per kernel of an eager op, as the one-op function around it shows it.

    The columns are those that `read_reasons` needs of `graph_nodes`: in that function the
    op is a node like any other, and meets the same pass. An op that the eager rewrite registry
    (core/common_runtime/eager/mkl_eager_op_rewrite.cc) replaced is there as its `_Mkl` form.
    """
    inside = instantiations.kernels.filter(
        pl.col("function").str.contains(WRAPPED)
        & ~pl.col("op").is_in(PLUMBING_OPS)
        & ~pl.col("node").is_in(PLUMBING_NODES)
    )
    return first_of_each(inside, ["function", "attributes"]).select(
        *AS_NODES,
        op=op_of_kernel(pl.col("op")),
        dtype=pl.col("attributes").str.extract(DTYPE, 1),
        rewrite=rewrite_of_kernel(pl.col("op")),
        ran_at="at",
    )


def kernels_of_dispatches(
    kernels: pl.DataFrame, dispatches: Dispatches, instantiations: Instantiations
) -> pl.DataFrame:
    """Which kernel each eager op ran: dispatch, kernel (row of `kernels`, see `eager_kernels`).

    The component that a dispatch runs has a handle; its executor's kernels name the component.
    """
    runs, components = dispatches.runs, instantiations.components[["component"]]
    key = ["function", "attributes"]
    made = instantiations.kernels.drop_nulls(["component", *key])
    kernel = row_with(made[key], kernels[["name", "attributes"]])
    matched = np.flatnonzero(kernel >= 0)
    ran = row_with(rows(components, runs["component"]), rows(made[["component"]], matched))
    with_kernel = np.flatnonzero((ran >= 0) & (runs["dispatch"].to_numpy() >= 0))
    pairs = pl.DataFrame(
        [
            runs["dispatch"][with_kernel],
            pl.Series("kernel", kernel[matched[ran[with_kernel]]], dtype=pl.UInt32),
        ]
    )
    return first_of_each(pairs, "dispatch")
