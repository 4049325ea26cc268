"""Runs of graph nodes: each `Process node` record with the record that ends it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.frames import Integers
from tflogscope.model.names import (
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

    def thread(self, rows: Integers | slice = _ALL) -> Integers:
        """The OS threads of these runs, -1 where the log prints none."""
        return self.threads[self.site[rows]]

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
