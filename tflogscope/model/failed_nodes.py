"""Statuses that nodes printed, each with the run of a node that it belongs to."""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.frames import first_after, first_of_each, last_before, rows
from tflogscope.model.node_runs import NodeRuns

_COLUMNS = {"status": pl.String, "node": pl.String, "start_at": pl.Int64, "at": pl.Int64}
_NEVER = np.iinfo(np.int64).max


def read_failed_nodes(events: Events, runs: NodeRuns) -> pl.DataFrame:
    """Statuses that nodes printed, in the order of the log: at, status, node, start_at.

    `start_at` is the line of the run that it belongs to (null: the log does not show it), found
    by the node that the status names.
    core/common_runtime/executor.cc, ExecutorState::ProcessOutputs.
    """
    statuses = events.messages("compute_status")
    if events.failures.is_empty() or statuses.is_empty():
        return pl.DataFrame(schema=_COLUMNS)
    text = pl.col("text")
    named = events.failures.select(
        "at",
        node=text.str.extract(r"\{\{node ([^{}]*)\}\}\]\]", 1),
        inside=text.str.contains("{{function_node ", literal=True),
    ).drop_nulls()
    # A status may hold many lines, such as a traceback of Python; they are written at once.
    times = events.record_times[["at"]]
    after = rows(times["at"], first_after(statuses[["at"]], times))
    statuses = statuses.select("status", status_at="at", next_at=after.fill_null(_NEVER))
    named = named.sort("at").join_asof(statuses, left_on="at", right_on="status_at", coalesce=False)
    named = first_of_each(named.filter(pl.col("at") < pl.col("next_at")), "status_at")
    names = runs.definitions.select(name="node").with_row_index("definition")
    meant = _of_names(named.select("node", "inside").unique(), names)
    row = np.flatnonzero(np.isin(runs.definition, meant["definition"].to_numpy()))
    started = pl.DataFrame({"at": runs.at[row], "definition": runs.definition[row]})
    started = started.cast({"definition": pl.UInt32}).join(meant, on="definition")
    keys = ["at", "node", "inside"]
    start = rows(started["at"], last_before(named[keys], started[keys]))
    return named.select("status", "node", start_at=start, at="status_at")


def _of_names(named: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Nodes that statuses name (node, inside) with all definitions (name) that they may mean."""
    found = [named.join(names, left_on="node", right_on="name", maintain_order="left")]
    # A body that was inlined has its nodes' names behind that of the caller.
    inside = named.filter("inside").with_columns(end="/" + pl.col("node"))
    for (length,), some in inside.group_by(pl.col("end").str.len_chars(), maintain_order=True):
        ends = names.select("definition", end=pl.col("name").str.tail(length))
        found.append(some.join(ends, on="end", maintain_order="left").drop("end"))
    return pl.concat(found)
