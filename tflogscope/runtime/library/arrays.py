"""Shapes, constants, joining and splitting. See `tensorflow/python/ops/array_ops.py`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.context import executing_eagerly, op_scope
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import (
    as_dtype,
    bool_,
    float32,
    float64,
    int32,
    int64,
    string,
    variant,
)
from tflogscope.runtime.core.known import known_shape
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.core.tape import stop_recording
from tflogscope.runtime.core.tensors import Tensor

# -- asking for shapes


def shape(
    input: Any, out_type: Any = None, name: str | None = None, *, optimize: bool = True
) -> Any:
    with op_scope(name, "Shape") as scope:
        if not executing_eagerly():
            input = convert_to_tensor(input)
            if optimize and input.shape.is_fully_defined():
                return constant(input.shape.as_list(), out_type or int32, name=scope)
        return O.Shape(input, out_type=out_type or int32, name=scope)


def shape_v2(input: Any, out_type: Any = int32, name: str | None = None) -> Any:
    """`tf.shape`."""
    return shape(input, out_type, name)


def size(input: Any, out_type: Any = int32, name: str | None = None) -> Any:
    if executing_eagerly():
        count = prod(convert_to_tensor(input).shape.sizes())
        return convert_to_tensor(np.array(count, as_dtype(out_type).as_numpy_dtype))
    with op_scope(name, "Size") as scope:
        input = convert_to_tensor(input)
        if input.shape.is_fully_defined():
            return constant(input.shape.num_elements(), out_type, name=scope)
        return O.Size(input, out_type=out_type, name=scope)


def rank(input: Any, name: str | None = None) -> Any:
    with op_scope(name, "Rank") as scope:
        input = convert_to_tensor(input)
        if input.shape.rank is not None:
            return constant(input.shape.rank, int32, name=scope)
        return O.Rank(input, name=scope)


# -- another shape, or type, for the same elements


def _set_static_shape(tensor: Any, dims: Any) -> None:
    if not executing_eagerly() and isinstance(dims, Tensor):
        tensor.set_shape(known_shape(dims))


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    result = O.Reshape(tensor, shape, name=name)
    _set_static_shape(result, shape)
    return result


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """Without dimensions of size 1: those of `axis`, or all."""
    axes = [] if axis is None else [int(each) for each in np.ravel(axis)]
    return O.Squeeze(input, squeeze_dims=axes, name=name)


def identity(input: Any, name: str | None = None) -> Any:
    if hasattr(input, "dense_shape"):
        shape = None if input.dense_shape is None else identity(input.dense_shape, name)
        return type(input)(identity(input.values), identity(input.indices), shape)
    result = O.Identity(convert_to_tensor(input) if executing_eagerly() else input, name=name)
    result.handle_data = getattr(input, "handle_data", None)
    return result


def stop_gradient(input: Any, name: str | None = None) -> Any:
    with stop_recording():
        return O.StopGradient(input, name=name)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    return O.EnsureShape(x, shape=TensorShape(shape), name=name)


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    target = as_dtype(dtype)
    if (isinstance(x, Tensor) or hasattr(x, "handle")) and x.dtype is target:
        return x  # a variable, too: it is read where it is used
    with op_scope(name, "Cast") as scope:
        if hasattr(x, "dense_shape"):
            return type(x)(cast(x.values, target, scope), x.indices, x.dense_shape)
        tensor = convert_to_tensor(x, name="x")
        return tensor if tensor.dtype is target else O.Cast(tensor, DstT=target, name=scope)


# -- filled tensors


def fill(dims: Any, value: Any, name: str | None = None) -> Any:
    result = O.Fill(dims, value, name=name)
    _set_static_shape(result, dims)
    return result


def _filled(number: int, shape: Any, dtype: Any, name: str | None, default: str) -> Any:
    dtype = as_dtype(dtype)
    value = bool(number) if dtype is bool_ else "" if dtype is string else number
    with op_scope(name, default) as scope:
        if not isinstance(shape, Tensor):
            listed = isinstance(shape, (list, tuple))
            plain = not (listed and any(isinstance(each, Tensor) for each in shape))
            if plain:
                dims = TensorShape(shape).sizes()
                small = not isinstance(shape, int) and prod(dims) < 1000
                if small and not executing_eagerly():  # small ones are constants in graphs
                    return constant(value, dtype, dims, name=scope)
                shape = constant(list(dims), int32, name="shape_as_tensor")
            else:
                shape = convert_to_tensor(shape, int32)
        if shape.shape.rank == 0:
            shape = reshape(shape, [-1])
        return fill(shape, constant(value, dtype), name=scope)


def zeros(shape: Any, dtype: Any = float32, name: str | None = None) -> Any:
    return _filled(0, shape, dtype, name, "zeros")


def ones(shape: Any, dtype: Any = float32, name: str | None = None) -> Any:
    return _filled(1, shape, dtype, name, "ones")


def zeros_like(input: Any, dtype: Any = None, name: str | None = None) -> Any:
    with op_scope(name, "zeros_like") as scope:
        tensor = convert_to_tensor(input, name="tensor")
        other = None if dtype is None or as_dtype(dtype) is tensor.dtype else as_dtype(dtype)
        known = not executing_eagerly() and tensor.shape.is_fully_defined()
        if known and tensor.dtype is not variant:
            return zeros(tensor.shape, other or tensor.dtype, name=scope)
        if other is not None:
            return zeros(globals()["shape"](tensor), other, name=scope)
        return O.ZerosLike(tensor, name=scope)


def ones_like(input: Any, dtype: Any = None, name: str | None = None) -> Any:
    with op_scope(name, "ones_like") as scope:
        tensor = convert_to_tensor(input, name="tensor")
        result = ones(shape(tensor), dtype or tensor.dtype, name=scope)
        result.set_shape(tensor.shape)
        return result


_RANGE_TYPES = (int32, int64, float32, float64)


def range_(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Any:
    """`start`, `start + delta`, … below `limit`."""
    if limit is None:
        start, limit = 0, start
    with op_scope(name, "Range") as scope:
        given = {"start": start, "limit": limit, "delta": delta}
        tensors = [
            each if isinstance(each, Tensor) else convert_to_tensor(each, dtype, name=key)
            for key, each in given.items()
        ]
        if dtype is None:
            dtype = max((each.dtype for each in tensors), key=_RANGE_TYPES.index)
        return O.Range(*(cast(each, dtype) for each in tensors), name=scope)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int = -1,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """A row for each index, with `on_value` at its place."""
    with op_scope(name, "one_hot") as scope:
        on, off = (
            convert_to_tensor(default if each is None else each, dtype or float32, name=label)
            for each, default, label in ((on_value, 1, "on_value"), (off_value, 0, "off_value"))
        )
        return O.OneHot(indices, depth, on, off, axis=axis, name=scope)


# -- joining and splitting


def concat(values: Any, axis: Any, name: str = "concat") -> Any:
    """One after the other along `axis`."""
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    if len(values) == 1:
        with op_scope(name, "concat") as scope:
            convert_to_tensor(axis, int32, name="concat_dim")
            return identity(values[0], name=scope)
    return O.ConcatV2(values, axis, name=name)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    """Side by side along a new `axis`."""
    if axis == 0:
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass  # not all of one dtype yet: the op converts them
    return O.Pack(list(values), axis=axis, name=name)


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> Any:
    """The parts along `axis`. Raises ValueError if nobody knows how many."""
    if num is None:
        value = convert_to_tensor(value)
        num = value.shape[axis]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    return O.Unpack(value, num=num, axis=axis, name=name)


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: Any = None, name: str = "split"
) -> Any:
    """Parts of equal, or these, sizes along `axis`."""
    if isinstance(num_or_size_splits, (int, np.integer)):
        return O.Split(axis, value, num_split=int(num_or_size_splits), name=name)
    sizes = convert_to_tensor(num_or_size_splits)
    return O.SplitV(value, sizes, axis, num_split=num or sizes.shape[0], name=name)
