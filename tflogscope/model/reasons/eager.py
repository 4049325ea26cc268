"""The kernels of eager ops, as nodes that reasons can be found for."""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.model.dispatches import Dispatches
from tflogscope.model.frames import first_of_each, row_with, rows
from tflogscope.model.instantiations import AS_NODES, Instantiations
from tflogscope.model.names import (
    DTYPE,
    PLUMBING_NODES,
    PLUMBING_OPS,
    WRAPPED,
    op_of_kernel,
    rewrite_of_kernel,
)


def eager_kernels(instantiations: Instantiations) -> pl.DataFrame:
    """One row per kernel of an eager op, as the one-op function around it shows it.

    The columns are those that `read_reasons` needs of `tables.graph_nodes`: in that function the
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
    known = np.flatnonzero(kernel >= 0)
    ran = row_with(rows(components, runs["component"]), rows(made[["component"]], known))
    with_kernel = np.flatnonzero((ran >= 0) & (runs["dispatch"].to_numpy() >= 0))
    found = pl.DataFrame(
        [
            runs["dispatch"][with_kernel],
            pl.Series("kernel", kernel[known[ran[with_kernel]]], dtype=pl.UInt32),
        ]
    )
    return first_of_each(found, "dispatch")
