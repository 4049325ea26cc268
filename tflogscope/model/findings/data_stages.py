"""Stages of data pipelines: the functions of tf.data, what they take, and how often they ran."""

from __future__ import annotations

from typing import Any

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.frames import only
from tflogscope.model.common.names import (
    IDLE_OPS,
    MAKE_ITERATOR,
    PLUMBING_OPS,
    PYTHON_OPS,
    runs_for_data,
)
from tflogscope.model.common.once import once
from tflogscope.model.findings.pipelines import MAKES_DATASET
from tflogscope.model.pipeline import Evidence

_SLOW_OPS = r"^(?:Decode|Read|Resize|RandomCrop|Parse)"
GENERATOR = "Dataset_from_generator_"  # python/data/ops/from_generator_op.py has three functions
_LEAST_RUN = threshold("input-bound.least_run")
# python/data/ops: the name of a map's function begins so; `flat_map` takes no num_parallel_calls.
MAP = r"^Dataset_map_"
IS_MAP = pl.col("function").str.contains(MAP) & (pl.col("per_run") > _LEAST_RUN)
_SMALL_OP = threshold("input-bound.small_op")
_BATCHED = threshold("input-bound.batched")
_SPLIT_US = threshold("input-bound.split")


@once
def read_stages(evidence: Evidence) -> pl.DataFrame:
    """Functions of tf.data, the slowest first: two maps of one function are two.

    function, made_at (the line of the program that asked for it), steady_us, work_us, runs, per_run
    and per_op (µs of a run, and of an op in it), python, op (if one takes most of it), random
    (no epoch is like another), alone (the share of it that runs on one thread: other kernels of
    more than 100 µs are split, Eigen's TensorCostModel gives each thread 100,000 cycles at least).
    """
    nodes = evidence.nodes.filter(runs_for_data()).drop_nulls("function")
    made_at = evidence.lines.named(evidence.lines.of_functions(nodes["name"])).alias("made_at")
    is_generator = pl.col("function").str.starts_with(GENERATOR)
    named = nodes.hstack([made_at]).with_columns(
        pl.when(~is_generator).then("made_at").alias("made_at"),
        function=pl.when(is_generator).then(pl.lit(GENERATOR)).otherwise("function"),
    )
    by_op = (
        named.lazy()
        .group_by("function", "made_at", "op")
        .agg(
            pl.col("steady_us", "work_us").sum(),
            runs=pl.col("executions").sum(),
            calls=pl.col("executions").max(),
        )
    )
    by_op = by_op.sort("steady_us", "op", descending=[True, False])
    slow = pl.col("op").str.contains(_SLOW_OPS)
    most_of_it = pl.col("steady_us") * 2 > pl.col("steady_us").sum()
    alone = slow | (pl.col("steady_us") < _SPLIT_US * pl.col("runs"))
    return (
        by_op.group_by("function", "made_at", maintain_order=True)
        .agg(
            pl.col("steady_us", "work_us").sum(),
            python=pl.col("op").str.contains(PYTHON_OPS).any(),
            op=pl.col("op").filter(most_of_it).first(),
            random=pl.col("op").str.contains("Random|Shuffle").any(),
            alone=pl.col("steady_us").filter(alone).sum() / pl.col("steady_us").sum(),
            runs=pl.col("calls").max(),
            per_op=pl.col("steady_us").sum() / pl.col("runs").sum(),
            per_run=pl.col("steady_us").sum() / pl.col("calls").max(),
        )
        .sort("steady_us", "function", descending=[True, False])
        .collect()
    )


def take_slowest(stages: pl.DataFrame) -> dict[str, Any]:
    """The first row of `read_stages`; empty: there is none."""
    return stages.row(0, named=True) if stages.height else {}


def find_line(stage: dict[str, Any], evidence: Evidence) -> str | None:
    """The line of the program that asked for the op that takes most of a stage."""
    if stage["op"] is None or evidence.lines.stacks.is_empty():
        return None
    nodes = evidence.nodes.filter(function=stage["function"], op=stage["op"])
    slowest = nodes.sort("steady_us", descending=True).head(1)
    line = evidence.lines.named(evidence.lines.of_nodes(slowest["name"], slowest["node"]))
    return next(iter(line.drop_nulls()), None)


def find_small_map(evidence: Evidence, elements: int) -> dict[str, Any]:
    """The slowest stage, if it is a map before the batch that takes less than its call.

    Or one of ops each of which takes little, and less for each element of a batch.
    """
    small = pl.col("per_run") <= _LEAST_RUN
    small |= (pl.col("per_op") <= _SMALL_OP) & ~pl.col("random")
    small &= pl.col("function").str.contains(MAP)
    # Dataset.ragged_batch has a map of its own, which computes nothing.
    op = pl.col("op")
    plain = op.is_in(PLUMBING_OPS) | op.str.contains(rf"{IDLE_OPS}|^RaggedTensor")
    computing = evidence.nodes.filter(~plain)
    small &= pl.col("function").is_in(computing["function"].implode())
    return take_slowest(
        read_stages(evidence).head(1).filter(small, pl.col("runs") >= _BATCHED * elements)
    )


def find_nested_datasets(evidence: Evidence, elements: int) -> dict[str, Any]:
    """The function of a flat_map, say, that makes far more datasets than the loop gets elements.

    Each needs an iterator of its own (core/kernels/data/flat_map_dataset_op.cc), which no record
    shows.
    """
    made = evidence.nodes.filter(
        pl.col("function").str.contains(r"^Dataset_(?:flat_map|interleave)_"),
        pl.col("op").str.contains(MAKES_DATASET),
        pl.col("executions") >= _BATCHED * elements,
    )
    # A line that makes several pipelines makes several functions of one name.
    made = made.group_by("function").agg(runs=pl.col("executions").sum()).sort("runs", "function")
    return next(made.reverse().iter_rows(named=True), {})


def count_transfers(evidence: Evidence, elements: int) -> int | None:
    """How many elements a data service sent, if far more than the loop gets; None: it did not.

    The worker compresses each, and the client uncompresses it
    (python/data/experimental/ops/data_service_ops.py).
    """
    sent = int(evidence.nodes.filter(op="UncompressElement")["executions"].sum())
    return sent if sent >= _BATCHED * elements else None


def find_later_resize(evidence: Evidence, function: str) -> str | None:
    """The map that resizes what a function of tf.data computed."""
    first = evidence.nodes.filter(function=function)["ran_at"].min()
    resizing = pl.col("op").str.contains("^Resize") & pl.col("function").str.contains(MAP)
    later = evidence.nodes.filter(resizing & (pl.col("ran_at") > first))
    later = later.filter(pl.col("function") != function).sort("ran_at")
    names = later["function"].str.replace(MAP, "map(") + ")"
    return next(iter(names), None)


def has_overlaps(evidence: Evidence, function: str) -> bool:
    """Whether calls of a function of tf.data ran at the same time.

    TensorFlow itself parallelizes a map without state (`map_parallelization`, in all releases), one
    that draws random numbers, say, it doesn't.
    """
    steps = evidence.executions.steps
    calls = steps.filter(pl.col("function") == function).sort("at")
    return bool((calls["at"].shift(-1) < calls["last_at"]).any())


def count_epochs(function: str, evidence: Evidence) -> int:
    """How many iterators a function of tf.data ran for.

    Keras 3 makes some that it asks for nothing (TFEpochIterator), and others are of validation.
    """
    steps = evidence.executions.steps
    return count_iterators(evidence, only(steps["at"], steps["function"].eq_missing(function)))


def count_iterators(evidence: Evidence, at: pl.Series) -> int:
    """How many iterators were the last one made at some line of these."""
    made = evidence.eager.filter(pl.col("op") == MAKE_ITERATOR)["at"].sort()
    return pl.Series(made.search_sorted(at)).n_unique()
