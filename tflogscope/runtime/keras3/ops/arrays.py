"""Reductions, and operations that arrange elements.

Told about: `keras/src/backend/tensorflow/numpy.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.backend import floatx
from tflogscope.runtime.keras3 import dtypes
from tflogscope.runtime.keras3.operation import operation
from tflogscope.runtime.keras3.ops.core import convert_to_tensor

__all__ = [
    "all", "any", "argmax", "broadcast_to", "clip", "concatenate", "cumsum", "expand_dims",
    "flip", "get_item", "max", "mean", "min", "ones", "ones_like", "pad", "prod", "repeat",
    "reshape", "segment_sum", "split", "squeeze", "stack", "sum", "take", "tile", "transpose",
    "where", "zeros", "zeros_like",
]  # fmt: skip


@operation
def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean; of integers as floats."""
    x = convert_to_tensor(x)
    compute = dtypes.result_type(x.dtype, "float32")
    result = dtypes.standardize(x.dtype) if dtypes.is_float(x.dtype) else compute
    return tf.cast(tf.reduce_mean(tf.cast(x, compute), axis=axis, keepdims=keepdims), result)


@operation
def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A001  as in NumPy
    """The sum; of bools and small integers as `int32`."""
    x = convert_to_tensor(x)
    dtype = dtypes.standardize(x.dtype)
    dtype = "int32" if dtype in {"bool", "int8", "int16"} else dtype
    return tf.reduce_sum(tf.cast(x, dtype), axis=axis, keepdims=keepdims)


@operation
def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The product of all elements."""
    x = convert_to_tensor(x)
    dtype = dtypes.result_type(x.dtype)
    return tf.reduce_prod(
        tf.cast(x, "int32" if dtype == "bool" else dtype), axis=axis, keepdims=keepdims
    )


def _of_some(name: str, function: Callable[..., Any], text: str) -> Callable[..., Any]:
    def reduce(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        x = convert_to_tensor(x)
        if tf.executing_eagerly():
            size: Any = tf.size(x)
            tf.debugging.assert_greater(
                size,
                tf.constant(0, dtype=size.dtype),
                message=f"Cannot compute the {name} of an empty tensor.",
            )
        return function(x, axis=axis, keepdims=keepdims)

    reduce.__name__, reduce.__doc__ = name, text
    return operation(reduce)


max = _of_some("max", tf.reduce_max, "The largest element.")  # noqa: A001  as in NumPy
min = _of_some("min", tf.reduce_min, "The smallest element.")  # noqa: A001  as in NumPy


def _of_truth(name: str, function: Callable[..., Any], text: str) -> Callable[..., Any]:
    def reduce(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return function(tf.cast(x, "bool"), axis=axis, keepdims=keepdims)

    reduce.__name__, reduce.__doc__ = name, text
    return operation(reduce)


all = _of_truth("all", tf.reduce_all, "Are all true?")  # noqa: A001  as in NumPy
any = _of_truth("any", tf.reduce_any, "Is one true?")  # noqa: A001  as in NumPy


@operation
def cumsum(x: Any, axis: int | None = None) -> Any:
    """Each element added to those before it."""
    x = convert_to_tensor(x)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    return tf.cumsum(x, axis=axis)


@operation
def segment_sum(data: Any, segment_ids: Any, num_segments: int) -> Any:
    """The sum of the elements with each number."""
    return tf.math.unsorted_segment_sum(data, segment_ids, num_segments)


@operation
def argmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Where the largest element is. NB: -0.0 is made smaller than 0.0 first, by five ops."""
    x = convert_to_tensor(x)
    if dtypes.is_float(x.dtype) and len(x.shape):
        x = tf.cast(x, dtypes.result_type(x.dtype, "float32"))
        negative_zero = tf.logical_and(tf.equal(x, 0.0), _signbit(x))
        tiny = np.finfo(dtypes.standardize(x.dtype)).tiny
        x = tf.where(negative_zero, -tiny, x)
    flat = tf.reshape(x, [-1]) if axis is None else x
    found = tf.argmax(flat, axis=axis, output_type="int32")
    return expand_dims(found, axis) if keepdims else found


def _signbit(x: Any) -> Any:
    bits = tf.bitcast(tf.cast(x, "float32"), tf.int32)
    lowest = tf.constant(tf.int32.min, dtype=tf.int32)
    return tf.less(tf.bitwise.bitwise_and(bits, lowest), 0)


# Arranging


def zeros(shape: Any, dtype: Any = None) -> Any:
    """Zeros."""
    return tf.zeros(shape, dtype=dtype or floatx())


def ones(shape: Any, dtype: Any = None) -> Any:
    """Ones."""
    return tf.ones(shape, dtype=dtype or floatx())


@operation
def zeros_like(x: Any, dtype: Any = None) -> Any:
    """Zeros in the shape of `x`."""
    return tf.zeros_like(x, dtype=dtype)


@operation
def ones_like(x: Any, dtype: Any = None) -> Any:
    """Ones in the shape of `x`."""
    return tf.ones_like(x, dtype=dtype)


@operation
def get_item(x: Any, key: Any) -> Any:
    """`x[key]`."""
    return x[key]


@operation
def reshape(x: Any, newshape: Any) -> Any:
    """The elements in another shape."""
    return tf.reshape(convert_to_tensor(x), newshape)


@operation
def transpose(x: Any, axes: Any = None) -> Any:
    """The dimensions in another order."""
    return tf.transpose(x, perm=axes)


@operation
def flip(x: Any, axis: int | None = None) -> Any:
    """The elements along a dimension (or all) the other way round."""
    x = convert_to_tensor(x)
    rank = len(x.shape)
    return tf.reverse(x, tf.range(rank) if axis is None else [axis % rank])


@operation
def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = None) -> Any:
    """Wider, with zeros (or another value, or mirrored) around it."""
    x = convert_to_tensor(x)
    value = {} if constant_values is None else {"constant_values": constant_values}
    return tf.pad(x, convert_to_tensor(pad_width, "int32"), mode.upper(), **value)


@operation
def repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element several times."""
    return tf.repeat(convert_to_tensor(x), repeats, axis=axis)


@operation
def tile(x: Any, repeats: Any) -> Any:
    """The tensor several times, along each dimension."""
    return tf.tile(convert_to_tensor(x), repeats)


@operation
def expand_dims(x: Any, axis: Any) -> Any:
    """New dimensions of 1."""
    x = convert_to_tensor(x)
    axes = _axes(axis)
    rank = len(x.shape) + len(axes)
    for each in sorted(a % rank for a in axes):
        x = tf.expand_dims(x, each)
    return x


@operation
def squeeze(x: Any, axis: Any = None) -> Any:
    """Without some dimensions of 1. Raises ValueError for one that is not 1."""
    x = convert_to_tensor(x)
    if axis is not None:
        for each in _axes(axis):
            if x.shape[each] != 1:
                raise ValueError(f"Cannot squeeze axis={each}, because the dimension is not 1.")
        axis = sorted(each % len(x.shape) for each in _axes(axis))
    return tf.squeeze(x, axis=axis)


def _axes(axis: Any) -> list[int]:
    return list(axis) if isinstance(axis, (list, tuple)) else [axis]


@operation
def broadcast_to(x: Any, shape: Any) -> Any:
    """Repeated to that shape."""
    return tf.broadcast_to(x, shape)


@operation
def concatenate(xs: Any, axis: int = 0) -> Any:
    """One behind the other."""
    xs = [convert_to_tensor(x) for x in xs]
    if len({x.dtype for x in xs}) > 1:
        dtype = dtypes.result_type(*(x.dtype for x in xs))
        xs = [tf.cast(x, dtype) for x in xs]
    return tf.concat(xs, axis=axis)


@operation
def stack(x: Any, axis: int = 0) -> Any:
    """As one tensor with a new dimension."""
    return tf.stack(x, axis=axis)


@operation
def split(x: Any, indices_or_sections: int, axis: int = 0) -> Any:
    """So many equal parts."""
    return tf.split(x, indices_or_sections, axis=axis)


@operation
def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """Some slices of it. Indices below 0 count from the end, which takes ops to find out."""
    x = convert_to_tensor(x)
    if axis is None:
        x, axis = tf.reshape(x, (-1,)), 0
    indices = convert_to_tensor(indices)
    below: Any = indices < 0
    size: Any = tf.shape(x)
    from_start = indices + tf.cast(size[axis], indices.dtype)
    return tf.gather(x, tf.where(below, from_start, indices), axis=axis)


@operation
def where(condition: Any, x1: Any, x2: Any) -> Any:
    """The first where the condition is true, else the second."""
    condition = tf.cast(condition, "bool")
    x1, x2 = (x if isinstance(x, (int, float)) else convert_to_tensor(x) for x in (x1, x2))
    dtype = dtypes.result_type(*(getattr(x, "dtype", type(x)) for x in (x1, x2)))
    return tf.where(condition, convert_to_tensor(x1, dtype), convert_to_tensor(x2, dtype))


@operation
def clip(x: Any, x_min: Any, x_max: Any) -> Any:
    """Between two limits."""
    return tf.clip_by_value(x, x_min, x_max)
