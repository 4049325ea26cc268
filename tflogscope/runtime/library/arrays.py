"""Shapes, constants, joining and splitting. See `tensorflow/python/ops/array_ops.py`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.context import Function, executing_eagerly, op_scope, scoped
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import as_dtype, bool_, float32, float64, int32, int64, variant
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.known import known_shape
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.core.tape import stop_recording
from tflogscope.runtime.core.tensors import Tensor

# -- asking for shapes


@scoped("Shape")
def shape(input: Any, out_type: Any = int32, *, optimize: bool = True, scope: Any = None) -> Any:
    if not executing_eagerly():
        input = convert_to_tensor(input)
        if optimize and input.shape.is_fully_defined():
            return constant(input.shape.as_list(), out_type, name=scope)
    return O.Shape(input, out_type=out_type, name=scope)


@scoped("Size")
def size(input: Any, out_type: Any = int32, *, scope: Any = None) -> Any:
    input = convert_to_tensor(input)
    if executing_eagerly():
        count = prod(input.shape.sizes())
        return convert_to_tensor(np.array(count, as_dtype(out_type).as_numpy_dtype))
    if input.shape.is_fully_defined():
        return constant(input.shape.num_elements(), out_type, name=scope)
    return O.Size(input, out_type=out_type, name=scope)


@scoped("Rank")
def rank(input: Any, *, scope: Any = None) -> Any:
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
        tensor = convert_to_tensor(x, name="x")
        return tensor if tensor.dtype is target else O.Cast(tensor, DstT=target, name=scope)


# -- filled tensors


def fill(dims: Any, value: Any, name: str | None = None) -> Any:
    result = O.Fill(dims, value, name=name)
    _set_static_shape(result, dims)
    return result


def _filled(number: int, label: str) -> Function:
    @scoped(label)
    def filled(shape: Any, dtype: Any = float32, *, scope: Any = None) -> Any:
        dtype = as_dtype(dtype)
        value = bool(number) if dtype is bool_ else number
        if isinstance(shape, (list, tuple)) and any(isinstance(each, Tensor) for each in shape):
            shape = convert_to_tensor(shape, int32)
        elif not isinstance(shape, Tensor):
            dims = TensorShape(shape).sizes()
            small = not isinstance(shape, int) and prod(dims) < 1000
            if small and not executing_eagerly():  # small ones are constants in graphs
                return constant(value, dtype, dims, name=scope)
            shape = constant(list(dims), int32, name="shape_as_tensor")
        if shape.shape.rank == 0:
            shape = reshape(shape, [-1])
        return fill(shape, constant(value, dtype), name=scope)

    return filled


zeros, ones = _filled(0, "zeros"), _filled(1, "ones")


@scoped("zeros_like")
def zeros_like(input: Any, dtype: Any = None, *, scope: Any = None) -> Any:
    tensor = convert_to_tensor(input, name="tensor")
    wanted = as_dtype(dtype or tensor.dtype)
    known = not executing_eagerly() and tensor.shape.is_fully_defined()
    if known and tensor.dtype is not variant:
        return zeros(tensor.shape, wanted, name=scope)
    if wanted is not tensor.dtype:
        return zeros(shape(tensor), wanted, name=scope)
    return O.ZerosLike(tensor, name=scope)


@scoped("ones_like")
def ones_like(input: Any, dtype: Any = None, *, scope: Any = None) -> Any:
    tensor = convert_to_tensor(input, name="tensor")
    result = ones(shape(tensor), dtype or tensor.dtype, name=scope)
    result.set_shape(tensor.shape)
    return result


_RANGE_TYPES = (int32, int64, float32, float64)


@scoped("range")
def range_(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, *, scope: Any = None
) -> Any:
    """`start`, `start + delta`, … below `limit`."""
    if limit is None:
        start, limit = 0, start
    tensors = [
        each if isinstance(each, Tensor) else convert_to_tensor(each, dtype, name=key)
        for key, each in {"start": start, "limit": limit, "delta": delta}.items()
    ]
    dtype = dtype or max((each.dtype for each in tensors), key=_RANGE_TYPES.index)
    return O.Range(*(cast(each, dtype) for each in tensors), name=scope)


@scoped("one_hot")
def one_hot(indices: Any, depth: Any, dtype: Any = float32, *, scope: Any = None) -> Any:
    """A row for each index, with 1 at its place."""
    on = convert_to_tensor(1, dtype, name="on_value")
    off = convert_to_tensor(0, dtype, name="off_value")
    return O.OneHot(indices, depth, on, off, name=scope)


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


def split(value: Any, num_or_size_splits: int, axis: Any = 0, name: str = "split") -> Any:
    """Parts of equal sizes along `axis`."""
    if not isinstance(num_or_size_splits, (int, np.integer)):
        raise NotInThisRuntime("tf.split into parts of given sizes")
    return O.Split(axis, value, num_split=int(num_or_size_splits), name=name)
