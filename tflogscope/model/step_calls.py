"""Which calls are the steps of a run."""

from __future__ import annotations

import polars as pl

# core/ops/resource_variable_ops.cc, core/ops/training_ops.cc.
_UPDATES = r"^(?:Assign\w*VariableOp|Resource(?:Sparse)?Apply\w+|ResourceScatter\w+)$"


def step_calls(calls: pl.DataFrame, nodes: pl.LazyFrame) -> pl.DataFrame:
    """The calls of each run's step function.

    It is the one that updates most variables: that of training has those of the optimizer, those of
    evaluation only what metrics add up. Of equal ones it is what is called most, and more than
    once. Keras 3 calls them alike, so traces of one name that update fewer variables are another.
    """
    name = ["run", "function"]
    trace = [*name, "function_uid"]
    of_variables = nodes.filter(pl.col("op").str.contains(_UPDATES), pl.col("executions") > 0)
    updates = of_variables.group_by(trace).agg(updates=pl.len()).collect()
    calls = calls.join(updates, on=trace, how="left").with_columns(pl.col("updates").fill_null(0))
    total = calls.group_by(*name, "updates").agg(pl.col("duration_us").sum(), pl.len())
    order = ["updates", "len", "duration_us", "function"]
    most = total.filter(pl.col("len") > 1).sort(order, descending=True)
    most = most.group_by("run", maintain_order=True).first().select(*name, "updates")
    return calls.join(most, on=[*name, "updates"], maintain_order="left").drop("updates")
