"""Arithmetic, reductions. See `tensorflow/python/ops/math_ops.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.context import Function, scoped
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import float32, float64, int32, int64
from tflogscope.runtime.core.known import known_value
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.arrays import cast


def _of_op(type: str, label: str) -> Function:
    @scoped(label)
    def function(x: Any, *others: Any, scope: Any = None) -> Any:
        x = x if others else convert_to_tensor(x, name="x")
        return call(type, x, *others, name=scope)

    return function


abs_, sigmoid = _of_op("Abs", "Abs"), _of_op("Sigmoid", "Sigmoid")
pow_, floordiv = _of_op("Pow", "Pow"), _of_op("FloorDiv", "floordiv")


@scoped("Add")
def add(x: Any, y: Any, *, scope: Any = None) -> Any:
    x, y = _alike(x, y)
    return O.AddV2(x, y, name=scope)


def _alike(x: Any, y: Any) -> tuple[Any, Any]:
    x = convert_to_tensor(x, name="x")
    return x, convert_to_tensor(y, name="y", dtype_hint=x.dtype)


def _quotient_types(x: Any, y: Any) -> tuple[Any, Any]:
    if x.dtype is not y.dtype:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}.")
    if x.dtype.is_integer:
        target = float32 if x.dtype.size <= 2 else float64
        return cast(x, target), cast(y, target)
    return x, y


@scoped("truediv")
def truediv(x: Any, y: Any, *, scope: Any = None) -> Any:
    return O.RealDiv(*_quotient_types(*_alike(x, y)), name=scope)


@scoped("div_no_nan")
def div_no_nan(x: Any, y: Any, *, scope: Any = None) -> Any:
    if isinstance(y, Tensor) and not isinstance(x, Tensor):
        x = convert_to_tensor(x, y.dtype, name="x")
    return O.DivNoNan(*_quotient_types(*_alike(x, y)), name=scope)


def add_n(inputs: Any, name: str | None = None) -> Any:
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("Inputs must be an iterable of at least one Tensor.")
    if len(inputs) > 1:
        return O.AddN(inputs, name=name)
    only = convert_to_tensor(inputs[0])
    return O.Identity(only, name=name) if name else only


@scoped("clip_by_value")
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, *, scope: Any = None) -> Any:
    t = convert_to_tensor(t, name="t")
    return O.Maximum(O.Minimum(t, clip_value_max), clip_value_min, name=scope)


# -- reductions


def _dimensions(x: Any, axis: Any) -> Any:
    if axis is not None:
        return axis
    rank = getattr(getattr(x, "shape", None), "rank", None)
    if rank:
        return constant(np.arange(rank, dtype=np.int32))
    return arrays.range_(0, arrays.rank(x))


def _reduction(type: str) -> Function:
    def reduce(input_tensor: Any, axis: Any = None, keepdims: Any = False, name: Any = None) -> Any:
        keep = bool(keepdims)
        axes = _dimensions(input_tensor, axis)
        result = call(type, input_tensor, axes, keep_dims=keep, name=name)
        if axis is None and not keep:
            result.set_shape(())
        return result

    return reduce


reduce_sum, reduce_mean, reduce_prod = map(_reduction, ("Sum", "Mean", "Prod"))
reduce_max, reduce_min = map(_reduction, ("Max", "Min"))
reduce_all, reduce_any = map(_reduction, ("All", "Any"))


@scoped("reduce_variance")
def reduce_variance(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = convert_to_tensor(x)
    difference = x - reduce_mean(x, axis=axis, keepdims=True)
    return reduce_mean(O.Square(difference), axis=axis, keepdims=keepdims)


def reduced_shape(input_shape: Any, axes: Any) -> Any:
    known, known_axes = (
        known_value(e) if isinstance(e, Tensor) else e for e in (input_shape, axes)
    )
    if known is not None and known_axes is not None:
        result = np.array(known, np.int32)
        result[np.array(known_axes, np.int32)] = 1
        return result
    input_shape, axes = cast(input_shape, int32), cast(axes, int32)
    rank = arrays.size(input_shape)
    axes = (axes + rank) % rank
    axes_shape = arrays.shape(axes)
    positions, ones = arrays.range_(rank), arrays.ones(axes_shape, int32)
    return O.DynamicStitch([positions, axes], [input_shape, ones])


def argmax(input: Any, axis: Any = None, output_type: Any = int64, name: Any = None) -> Any:
    return O.ArgMax(input, 0 if axis is None else axis, output_type=output_type, name=name)
