"""`tf.data.experimental`: names that programs still use from there."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.data import making
from tflogscope.runtime.data.dataset import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Dataset,
)
from tflogscope.runtime.data.options import AutoShardPolicy, ExternalStatePolicy
from tflogscope.runtime.dtypes import int64

__all__ = [
    "AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "AutoShardPolicy",
    "Counter", "ExternalStatePolicy", "assert_cardinality", "cardinality", "choose_from_datasets",
    "get_single_element", "get_structure", "ignore_errors", "sample_from_datasets", "take_while",
    "unbatch", "unique",
]  # fmt: skip


def cardinality(dataset: Dataset) -> Any:
    """How many elements; the same as `dataset.cardinality()`."""
    return dataset.cardinality()


choose_from_datasets = Dataset.choose_from_datasets
sample_from_datasets = Dataset.sample_from_datasets


def Counter(start: int = 0, step: int = 1, dtype: Any = int64) -> Dataset:  # noqa: N802
    """`start`, `start + step`, and so on without end."""
    return Dataset.range(start, int64.max, step, output_type=dtype)


def assert_cardinality(expected_cardinality: Any) -> Any:
    """For `dataset.apply`: says how many elements there are.

    Raises InvalidArgumentError, when it is iterated, if that was wrong.
    """
    return lambda dataset: dataset._with(
        "_AssertCardinalityDataset",
        dataset.element_spec,
        None,
        {"cardinality": making.int64(expected_cardinality, "cardinality")},
    )


def get_structure(dataset: Any) -> Any:
    """The spec of the elements."""
    return dataset.element_spec


def get_single_element(dataset: Dataset) -> Any:
    """`dataset.get_single_element()`."""
    return dataset.get_single_element()


def take_while(predicate: Any) -> Any:
    """For `dataset.apply`: `dataset.take_while(predicate)`."""
    return lambda dataset: dataset.take_while(predicate)


def unique() -> Any:
    """For `dataset.apply`: `dataset.unique()`."""
    return lambda dataset: dataset.unique()


def ignore_errors(log_warning: bool = False) -> Any:
    """For `dataset.apply`: `dataset.ignore_errors(log_warning)`."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def unbatch() -> Any:
    """For `dataset.apply`: `dataset.unbatch()`."""
    return lambda dataset: dataset.unbatch()


__getattr__ = missing("tf.data.experimental")
