"""`tf.data.experimental`: names that programs still use from there."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.data.dataset import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Dataset,
)
from tflogscope.runtime.data.options import AutoShardPolicy, ExternalStatePolicy

__all__ = [
    "AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "AutoShardPolicy",
    "ExternalStatePolicy", "cardinality",
]  # fmt: skip


def cardinality(dataset: Dataset) -> Any:
    """How many elements; the same as `dataset.cardinality()`."""
    return dataset.cardinality()
