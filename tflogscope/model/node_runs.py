"""Runs of graph nodes: each `Process node` record with the record that ends it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.chunk import START
from tflogscope.events.events import Events
from tflogscope.model.names import (
    PLUMBING_NODES,
    PLUMBING_OPS,
    op_of_kernel,
    rewrite_of_kernel,
)
from tflogscope.model.pairing import mixed_keys, pair_in_order

FOLDING_STEP = -1  # core/framework/log_memory.h, CONSTANT_FOLDING_STEP_ID
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class NodeRuns:
    """Columns over all `Process node` records, in the order of the log.

    `step` is an index into `steps` (the step ids); `definition` a row of `definitions`; `end` a
    row of the executor's records or -1. Times are µs, null where the log has none.
    """

    events: Events
    at: Integers
    time: pl.Series
    site: Integers
    step: Integers
    definition: Integers
    end_at: pl.Series
    end_time: pl.Series
    steps: Integers

    def __len__(self) -> int:
        return len(self.at)

    @cached_property
    def definitions(self) -> pl.DataFrame:
        """Distinct definitions: node, kernel, op, rewrite, kind, attributes, inputs, dead…."""
        kernel = pl.col("op")
        plumbing = kernel.is_in(PLUMBING_OPS) | pl.col("node").is_in(PLUMBING_NODES)
        return self.events.definitions.select(
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

    @cached_property
    def prints_ends(self) -> bool:
        """Whether the level of the log is high enough for ends (VLOG 2 in executor.cc)."""
        return self.end_at.null_count() < len(self.end_at)

    @cached_property
    def is_source(self) -> NDArray[np.bool_]:
        """Whether a run is that of `_SOURCE`, which begins each partition of a step."""
        return (self.definitions["node"] == "_SOURCE").fill_null(False).to_numpy()[self.definition]


def read_node_runs(events: Events) -> NodeRuns:
    """Pair the executor's records.

    Several partitions of a function share a step id and their node ids collide, so a run is keyed
    by step, id, node and device (`tag`).
    """
    executor = events.executor
    phase = executor["phase"].to_numpy()
    starts, ends = np.flatnonzero(phase == START), np.flatnonzero(phase != START)
    at = executor["at"].to_numpy()
    step = executor["step"].to_numpy()
    definition = executor["definition"].to_numpy().astype(np.int64)
    tag = executor["tag"].to_numpy().view(np.int64)
    key = mixed_keys(step, executor["id"].to_numpy(), tag)
    # Positions stand for `at`: two records of one torn line have the same number.
    end = pair_in_order(key[starts], key[ends], starts, ends)
    end_rows = pl.Series(np.where(end >= 0, ends[end], -1) if len(ends) else end)
    end_index = end_rows.set(end_rows < 0, None)
    steps, step_index = _dense(step[starts])
    time = executor["time"]
    return NodeRuns(
        events=events,
        at=at[starts],
        time=time.gather(starts),
        site=executor["site"].to_numpy()[starts],
        step=step_index,
        definition=definition[starts],
        end_at=executor["at"].gather(end_index),
        end_time=time.gather(end_index),
        steps=steps,
    )


def _dense(values: Integers) -> tuple[Integers, Integers]:
    """Return distinct values in the order of appearance, and each row's index among them.

    Rows of one step stand together mostly, so only the heads of runs of equal values are sorted.
    """
    if not len(values):
        return values, values
    head = np.concatenate([[True], values[1:] != values[:-1]])
    distinct, first, inverse = np.unique(values[head], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[inverse][np.cumsum(head) - 1]
