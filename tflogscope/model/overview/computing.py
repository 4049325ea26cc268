"""Nodes that compute: what screens rank by time, as the busiest op and as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tflogscope.model.common.names import CALLING_OPS, PLUMBING_OPS, PYTHON_OP, runs_for_data
from tflogscope.model.common.once import once
from tflogscope.model.ledger.phases import wait_of
from tflogscope.model.links.kernels import COMPILED_ATTRIBUTE

if TYPE_CHECKING:
    from tflogscope.model.common.tables import Tables

# _Recv waits for another device even within a task, _Send hands on what is there, and what a plain
# log has for NoOp is its logging.
_IDLE = (*PLUMBING_OPS, "NoOp")


@once
def computing_nodes(run: Tables) -> pl.DataFrame:
    """The rows of the table `nodes` that ran and compute.

    What calls functions of graphs is left out, for its nodes have rows of their own, unless XLA
    compiled it; so is what waits, and what tf.data runs.
    """
    keys = ["function", "function_uid"]
    data = run.functions.filter(runs_for_data())[keys]
    nodes = run.nodes.join(data, on=keys, how="anti", nulls_equal=True, maintain_order="left")
    op = pl.col("op")
    calling = op.str.contains(CALLING_OPS).fill_null(value=True) & (op != PYTHON_OP)
    compiled = pl.col("attributes").str.contains(COMPILED_ATTRIBUTE, literal=True)
    idle = wait_of(op).is_not_null() | op.is_in(_IDLE)
    return nodes.filter(~calling | compiled, ~idle, pl.col("executions") > 0)
