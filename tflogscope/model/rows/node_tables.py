"""The tables `nodes` and `functions`: what ran inside graph functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from tflogscope.grammar.tables import as_table
from tflogscope.model.common.figures import counted, known_sum, rounded, summed
from tflogscope.model.common.frames import first_of_each, looked_up, row_with, rows
from tflogscope.model.common.intervals import newly_covered
from tflogscope.model.common.names import (
    DTYPE,
    PLUMBING_NODES,
    PLUMBING_OPS,
    WRAPPED,
    function_columns,
    op_of_kernel,
    rewrite_of_kernel,
)
from tflogscope.model.common.pairing import HALF, pair
from tflogscope.model.costs.costs import Costs
from tflogscope.model.costs.python_lines import PythonLines
from tflogscope.model.executions.dispatches import Dispatches
from tflogscope.model.executions.executions import Executions, with_places
from tflogscope.model.executions.instantiations import AS_NODES, Instantiations
from tflogscope.model.reasons.reasons import Reasons

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


def nodes_table(
    executions: Executions, nodes: pl.DataFrame, reasons: Reasons, lines: PythonLines
) -> pl.DataFrame:
    """The `nodes` table, of `graph_nodes` and their reasons."""
    table = nodes.with_columns(
        eligible=reasons.eligible,
        reason=reasons.names,
        python=lines.named(lines.of_nodes(nodes["name"], nodes["node"])),
        **function_columns(pl.col("name")),
    )
    return as_table("nodes", with_places(executions.spans, table))


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


def functions_table(
    executions: Executions,
    instantiations: Instantiations,
    nodes: pl.DataFrame,
    same: Callable[[pl.Series], pl.DataFrame],
    lines: PythonLines,
    *,
    costs: Costs,
) -> pl.DataFrame:
    """The `functions` table: one row per graph function that was instantiated, called or run.

    `same` says which traces are of one Python function, see `python_functions`.
    """
    making = newly_covered(pl.col("time"), pl.col("end_time"), "function")
    instantiated = instantiations.spans.lazy().filter(~pl.col("function").str.contains(WRAPPED))
    spans = instantiated.select("at", name="function", made_at="at", making=making)
    calls = executions.calls.select("at", "name", called=pl.lit(value=True), took="duration_us")
    calls = calls.hstack(rows(costs.of_executions, executions.calls["row"]))
    run = executions.steps[["at", "name"]].lazy().drop_nulls()
    made, took = pl.col("made_at").is_not_null(), pl.col("took")
    ran = pl.col("executions") > 0
    counted = (
        nodes.lazy()
        .group_by("function", "function_uid")
        .agg(
            nodes=ran.sum(),
            eligible_nodes=(pl.col("eligible") & ran).sum(),
            rewritten_nodes=((pl.col("rewrite") != "none") & ran).sum(),
        )
    )
    all_timed = made.any() & (pl.col("making").count() == made.sum())
    names = function_columns(pl.col("name"))
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
        .with_columns(**names)
        .join(counted, on=["function", "function_uid"], how="left", nulls_equal=True)
        .sort("at")
        .collect()
    )
    traces = same(table["name"])[["name", "traces"]]
    made_line = with_places(executions.spans, table.select(at=pl.col("made_at").fill_null(0)))
    placed = with_places(executions.spans, looked_up(table, traces, "name")).with_columns(
        pl.col("nodes", "eligible_nodes", "rewritten_nodes").fill_null(0),
        instantiated_line=pl.when(pl.col("made_at").is_not_null()).then(made_line["line"]),
        first_line="line",
        python=lines.named(lines.of_functions(table["name"])),
    )
    return as_table("functions", placed)


# ---- kernels of eager ops, as nodes that reasons can be found for --------------------------------


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
