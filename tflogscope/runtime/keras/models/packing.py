"""Inputs, labels and weights as one element, and apart again.

Told about: `keras/src/engine/data_adapter.py` (`pack_x_y_sample_weight`,
`unpack_x_y_sample_weight`, `_process_tensorlike`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import backend

__all__ = ["as_tensors", "lists_to_tuples", "pack", "unpack"]


def pack(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Inputs, labels and weights as one element, as short as possible."""
    if y is None:
        return (x,) if isinstance(x, (tuple, list)) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def unpack(data: Any) -> tuple[Any, Any, Any]:
    """The reverse. Raises ValueError for a tuple of more than three."""
    if isinstance(data, list):
        data = tuple(data)
    if not isinstance(data, tuple):
        return data, None, None
    if len(data) > 3:
        raise ValueError(
            "Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, sample_weight)`, "
            f"found: {data}"
        )
    return (*data, None, None, None)[:3]


def as_tensors(structure: Any) -> Any:
    """Arrays as tensors, floats in the default dtype; lists as tuples."""

    def convert(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            floating = issubclass(value.dtype.type, np.floating)
            return tf.convert_to_tensor(value, dtype=backend.floatx() if floating else None)
        return value

    return lists_to_tuples(tf.nest.map_structure(convert, structure))


def lists_to_tuples(structure: Any) -> Any:
    """The same, in which no list is left."""
    if isinstance(structure, (list, tuple)):
        return tuple(lists_to_tuples(each) for each in structure)
    if isinstance(structure, dict):
        return {key: lists_to_tuples(each) for key, each in structure.items()}
    return structure
