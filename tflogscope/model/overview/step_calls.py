"""Which calls are the steps of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from tflogscope.model.common.names import UPDATES

if TYPE_CHECKING:
    from tflogscope.model.common.tables import Tables


def step_calls(calls: pl.DataFrame, nodes: pl.LazyFrame) -> pl.DataFrame:
    """The calls of each run's step function.

    It is the one that updates most variables: that of training has those of the optimizer, those of
    evaluation only what metrics add up. Of equal ones it is what is called most, and more than
    once. Keras 3 calls them alike, so traces of one name that update fewer variables are another.
    """
    name = ["run", "function"]
    trace = [*name, "function_uid"]
    of_variables = nodes.filter(pl.col("op").str.contains(UPDATES), pl.col("executions") > 0)
    updates = of_variables.group_by(trace).agg(updates=pl.len()).collect()
    calls = calls.join(updates, on=trace, how="left").with_columns(pl.col("updates").fill_null(0))
    total = calls.group_by(*name, "updates").agg(pl.col("duration_us").sum(), pl.len())
    order = ["updates", "len", "duration_us", "function"]
    most = total.filter(pl.col("len") > 1).sort(order, descending=True)
    most = most.group_by("run", maintain_order=True).first().select(*name, "updates")
    return calls.join(most, on=[*name, "updates"], maintain_order="left").drop("updates")


def later_steps(runs: Mapping[str, Tables]) -> pl.DataFrame:
    """The steps of runs but the first of each trace: run, function, us.

    Times are those of this run without its log (`work_us`), as printed if a run doesn't know them:
    `steady_us` has no stalls.
    """
    names = ("function", "function_uid", "work_us", "duration_us")
    calls, nodes = [], []
    for name, run in runs.items():
        ended = run.executions.filter((pl.col("kind") == "call") & (pl.col("status") == "done"))
        calls.append(ended.select(*names, run=pl.lit(name)).cast({"function": pl.String}))
        nodes.append(run.nodes.select(*names[:2], "op", "executions", run=pl.lit(name)))
    steps = step_calls(pl.concat(calls).drop_nulls("function"), pl.concat(nodes).lazy())
    later = pl.int_range(pl.len()).over("run", "function_uid") > 0
    steps = steps.filter(later)
    known = steps.select(pl.col("work_us").count().over("run") > 0).to_series().all()
    us = "work_us" if known else "duration_us"
    return steps.select("run", "function", us=pl.col(us).cast(pl.Float64)).drop_nulls("us")
