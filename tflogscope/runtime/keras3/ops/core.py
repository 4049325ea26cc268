"""What is a tensor, and how things become tensors.

Told about: `keras/src/backend/tensorflow/core.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.backend import smart_cond
from tflogscope.runtime.keras3 import dtypes
from tflogscope.runtime.keras3.operation import operation

__all__ = ["cast", "cond", "convert_to_numpy", "convert_to_tensor", "is_tensor", "shape"]


def is_tensor(x: Any) -> bool:
    """A tensor, slices of one, or a variable of TensorFlow or Keras."""
    return isinstance(x, (tf.Tensor, tf.IndexedSlices)) or hasattr(type(x), "read_value")


def convert_to_tensor(x: Any, dtype: Any = None) -> Any:
    """A tensor of that dtype; a tensor or variable that has it stays what it is.

    NB: TensorFlow would not take a float for an integer: so Python values are cast to integers.
    """
    wanted = None if dtype is None else dtypes.standardize(dtype)
    if is_tensor(x):
        same = wanted is None or dtypes.standardize(x.dtype) == wanted
        return x if same else tf.cast(x, wanted)
    if wanted is not None and (wanted == "bool" or dtypes.is_int(wanted)):
        return tf.cast(tf.convert_to_tensor(x), wanted)
    return tf.convert_to_tensor(x, dtype=wanted)


def convert_to_numpy(x: Any) -> Any:
    """The value as an array."""
    return tf.convert_to_tensor(x).numpy()


@operation
def cast(x: Any, dtype: Any) -> Any:
    """The tensor in another dtype."""
    return tf.cast(x, dtypes.standardize(dtype))


def shape(x: Any) -> tuple[Any, ...]:
    """The shape: numbers where they are known, tensors where not. TensorFlow's `Shape` is called
    either way; what is no tensor, as an array of NumPy, becomes one first.
    """
    if not hasattr(x, "shape") or isinstance(x, (np.ndarray, np.generic)):
        x = tf.convert_to_tensor(x)
    static = x.shape.as_list()
    if not is_tensor(x):
        return tuple(static)
    dynamic: Any = tf.shape(x)
    return tuple(dynamic[i] if dim is None else dim for i, dim in enumerate(static))


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """One of the two: now if it is known which, else `tf.cond`."""
    return smart_cond(pred, true_fn, false_fn)
