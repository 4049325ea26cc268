"""The kernels of eager ops, as nodes that reasons can be found for."""

from __future__ import annotations

import polars as pl

from tflogscope.model.dispatches import Dispatches
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
    kernels = inside.unique(["function", "attributes"], keep="first", maintain_order=True)
    return kernels.select(
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
    components = instantiations.components.select("component", "handle", made="at").sort("made")
    ran = dispatches.runs.filter(pl.col("dispatch") >= 0).select("dispatch", "handle", "at")
    of_component = ran.sort("at").join_asof(
        components, left_on="at", right_on="made", by="handle", check_sortedness=False
    )
    key = {"name": "function", "attributes": "attributes"}
    made = instantiations.kernels.drop_nulls("component").select(*key.values(), "component")
    rows = kernels.select(*key).with_row_index("kernel")
    known = made.join(rows, left_on=["function", "attributes"], right_on=["name", "attributes"])
    return (
        of_component.join(known.unique("component", keep="first"), on="component")
        .unique("dispatch", keep="first", maintain_order=True)
        .select("dispatch", "kernel")
    )
