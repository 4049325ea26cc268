"""Statuses that nodes printed, each with the run of a node that it belongs to."""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.node_runs import NodeRuns


def read_failed_nodes(events: Events, runs: NodeRuns) -> pl.DataFrame:
    """Statuses that nodes printed, in the order of the log: at, status, node, start_at.

    `start_at` is the line of the run that it belongs to (null: the log does not show it), found
    by the node that the status names.
    core/common_runtime/executor.cc, ExecutorState::ProcessOutputs.
    """
    text = pl.col("text")
    named = events.failures.select(
        "at",
        node=text.str.extract(r"\{\{node ([^{}]*)\}\}\]\]", 1),
        inside=text.str.contains("{{function_node ", literal=True),
    ).drop_nulls()
    statuses = events.messages("compute_status").select("at", "status", status_at="at")
    if named.is_empty() or statuses.is_empty():
        return statuses.clear().select(
            "status", node=pl.lit(None, pl.String), start_at=pl.lit(None, pl.Int64), at="at"
        )
    # A status may hold many lines, such as a traceback of Python; they are written at once.
    after = events.record_times.select("at", next_at="at")
    statuses = statuses.join_asof(
        after, on="at", strategy="forward", allow_exact_matches=False
    ).with_columns(pl.col("next_at").fill_null(np.iinfo(np.int64).max))
    named = named.join_asof(statuses, on="at").filter(pl.col("at") < pl.col("next_at"))
    named = named.unique("status_at", keep="first", maintain_order=True).sort("at")
    names = runs.definitions.select(name="node").with_row_index("definition")
    meant = _of_names(named.select("node", "inside").unique(), names)
    rows = np.flatnonzero(np.isin(runs.definition, meant["definition"].to_numpy()))
    started = pl.DataFrame(
        {
            "start_at": runs.at[rows],
            "definition": runs.definition[rows].astype(np.uint32),
        }
    ).join(meant, on="definition")
    found = named.join_asof(
        started.sort("start_at"),
        left_on="at",
        right_on="start_at",
        by=["node", "inside"],
        check_sortedness=False,
    )
    return found.select("status", "node", "start_at", at="status_at")


def _of_names(named: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Nodes that statuses name (node, inside) with all definitions (name) that they may mean."""
    found = [named.join(names, left_on="node", right_on="name", maintain_order="left")]
    # A body that was inlined has its nodes' names behind that of the caller.
    inside = named.filter("inside").with_columns(end="/" + pl.col("node"))
    for (length,), some in inside.group_by(pl.col("end").str.len_chars(), maintain_order=True):
        ends = names.select("definition", end=pl.col("name").str.tail(length))
        found.append(some.join(ends, on="end", maintain_order="left").drop("end"))
    return pl.concat(found)
