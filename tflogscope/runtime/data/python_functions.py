"""`enumerate(dataset)` and its kin in converted code: datasets again, not Python's loops.

Told about: `register_overrides` of `tensorflow/python/data/ops/dataset_autograph.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime import dtypes, nest
from tflogscope.runtime.autograph.operators.builtins import register
from tflogscope.runtime.conversion import constant
from tflogscope.runtime.data.dataset import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Dataset,
)
from tflogscope.runtime.library import comparison, elementary
from tflogscope.runtime.library.debugging import Assert
from tflogscope.runtime.ops.call import call, control_dependencies

__all__ = ["register_overrides"]


def _absolute(dataset: Dataset) -> Dataset:
    if len(nest.flatten(dataset.element_spec)) == 1:
        return dataset.map(elementary.abs, num_parallel_calls=AUTOTUNE)
    return dataset.map(
        lambda *each: nest.map_structure(elementary.abs, each), num_parallel_calls=AUTOTUNE
    )


def _length(dataset: Dataset) -> Any:
    length = dataset.cardinality()
    text = "len requires dataset with definitive cardinality, got "
    message = call("StringJoin", [text, call("AsString", length)])
    known = call(
        "LogicalAnd",
        call("NotEqual", length, INFINITE_CARDINALITY),
        call("NotEqual", length, UNKNOWN_CARDINALITY),
    )
    with control_dependencies([Assert(known, [message])]):
        return call("Identity", length)


def _zipped(*datasets: Dataset, strict: bool = False) -> Dataset:
    """Raises ValueError for `strict`."""
    if strict:
        raise ValueError("strict zip not supported by Dataset")
    return Dataset.zip(datasets)


def _mapped(function: Callable[..., Any], *datasets: Dataset) -> Dataset:
    return Dataset.zip(datasets).map(function)


def _any(dataset: Dataset) -> Any:
    _check_truths(dataset, "any")
    return dataset.filter(lambda each: each).take(1).reduce(constant(False), lambda _, each: each)


def _all(dataset: Dataset) -> Any:
    _check_truths(dataset, "all")
    false = dataset.filter(comparison.logical_not).take(1)
    return false.reduce(constant(True), lambda _, each: each)


def _check_truths(dataset: Dataset, name: str) -> None:
    specs = nest.flatten(dataset.element_spec)
    if len(specs) != 1 or specs[0].dtype is not dtypes.bool_:
        raise ValueError(
            f'in graph mode, the "{name}" builtin only supports datasets that return bool scalars; '
            f"got: {dataset.element_spec}"
        )


def register_overrides() -> None:
    """Say so to AutoGraph."""
    register(abs, Dataset, _absolute)
    register(len, Dataset, _length)
    register(enumerate, Dataset, Dataset.enumerate)
    register(zip, Dataset, _zipped, which=slice(None))
    register(map, Dataset, _mapped, which=slice(1, None))
    register(
        filter, Dataset, lambda predicate, dataset: dataset.filter(predicate), which=slice(1, 2)
    )
    register(any, Dataset, _any)
    register(all, Dataset, _all)
