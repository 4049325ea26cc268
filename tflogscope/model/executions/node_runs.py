"""Runs of graph nodes: each `Process node` record with the record that ends it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.common.frames import Integers, first_of_each, last_before, rows
from tflogscope.model.common.names import (
    PLUMBING_NODES,
    PLUMBING_OPS,
    op_of_kernel,
    rewrite_of_kernel,
)

FOLDING_STEP = -1  # core/framework/log_memory.h, CONSTANT_FOLDING_STEP_ID
_ALL = slice(None)


@dataclass(eq=False, repr=False)
class NodeRuns:
    """Columns over all `Process node` records, in the order of the log.

    `step` is an index into `steps` (the step ids); `definition` a row of `definitions`. Times are
    µs, null where the log has none; `end_at` is null where no record ends the run. `definitions`
    are distinct: node, kernel, op, rewrite, kind, attributes, inputs, dead…. `threads` has the
    thread of each `site`.
    """

    definitions: pl.DataFrame
    at: Integers
    time: pl.Series
    site: Integers
    threads: Integers
    step: Integers
    definition: Integers
    end_at: pl.Series
    end_time: pl.Series
    steps: Integers

    def __len__(self) -> int:
        return len(self.at)

    def thread(self, numbers: Integers | slice = _ALL) -> Integers:
        """The OS threads of these runs, -1 where the log prints none."""
        return self.threads[self.site[numbers]]

    @cached_property
    def prints_ends(self) -> bool:
        """Whether the level of the log is high enough for ends (VLOG 2 in executor.cc)."""
        return self.end_at.null_count() < len(self.end_at)


def read_node_runs(events: Events) -> NodeRuns:
    """The runs that the scan has paired: by step, node id, node and device.

    Several partitions of a function share a step id, and their node ids collide.
    """
    runs = events.runs
    return NodeRuns(
        definitions=_definitions(events.definitions),
        at=runs["at"].to_numpy(),
        time=runs["time"],
        site=runs["site"].to_numpy(),
        threads=events.threads,
        step=runs["step"].to_numpy(),
        definition=runs["definition"].to_numpy(),
        end_at=runs["end_at"],
        end_time=runs["end_time"],
        steps=events.steps,
    )


def _definitions(printed: pl.DataFrame) -> pl.DataFrame:
    kernel = pl.col("op")
    plumbing = kernel.is_in(PLUMBING_OPS) | pl.col("node").is_in(PLUMBING_NODES)
    return printed.select(
        "node",
        "attributes",
        "inputs",
        "dead",
        "device",
        kernel=kernel,
        op=op_of_kernel(kernel),
        rewrite=rewrite_of_kernel(kernel),
        kind=pl.when(plumbing).then(pl.lit("plumbing")).otherwise(pl.lit("op")),
    )


# ---- statuses that nodes printed -----------------------------------------------------------------

_COLUMNS = {"status": pl.String, "node": pl.String, "start_at": pl.Int64, "at": pl.Int64}


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
    after = pl.Series(events.next_places(statuses["at"].to_numpy()))
    statuses = statuses.select("status", status_at="at", next_at=after)
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
    frames = [named.join(names, left_on="node", right_on="name", maintain_order="left")]
    # A body that was inlined has its nodes' names behind that of the caller.
    inside = named.filter("inside").with_columns(end="/" + pl.col("node"))
    for (length,), some in inside.group_by(pl.col("end").str.len_chars(), maintain_order=True):
        ends = names.select("definition", end=pl.col("name").str.tail(length))
        frames.append(some.join(ends, on="end", maintain_order="left").drop("end"))
    return pl.concat(frames)
