"""`tf.data.experimental`: names that programs still use from there."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.data.dataset import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Dataset,
)
from tflogscope.runtime.data.options import AutoShardPolicy, ExternalStatePolicy

__all__ = [
    "AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "AutoShardPolicy",
    "ExternalStatePolicy", "cardinality", "ignore_errors", "unbatch",
]  # fmt: skip


def cardinality(dataset: Dataset) -> Any:
    """How many elements; the same as `dataset.cardinality()`."""
    return dataset.cardinality()


def ignore_errors(log_warning: bool = False) -> Any:
    """For `dataset.apply`: `dataset.ignore_errors(log_warning)`."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def unbatch() -> Any:
    """For `dataset.apply`: `dataset.unbatch()`."""
    return lambda dataset: dataset.unbatch()


__getattr__ = missing("tf.data.experimental")
