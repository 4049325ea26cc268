"""Arithmetic of two tensors, element by element: Add, Sub, Mul, RealDiv, Pow and others.

Told about: `core/ops/math_ops.cc`, `core/kernels/cwise_op_*.cc`, `python/ops/math_grad.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime import dtypes
from tflogscope.runtime.conversion import constant
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.library import arithmetic as lib
from tflogscope.runtime.library import arrays, elementary
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.broadcasting import (
    broadcast_gradient_args,
    broadcast_kernel,
    broadcast_shape,
    by_op,
    gradients_of_both,
    is_scalar,
    reductions,
    same_known_shapes,
    skips,
    summed,
)
from tflogscope.runtime.ops.call import call, control_dependencies
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.release import since
from tflogscope.runtime.shapes import TensorShape, dims_text, merged
from tflogscope.runtime.tensors import Tensor

Array = NDArray[Any]
Gradients = tuple[Any, Any]

# -- sums


@op(
    "Add(x: T, y: T; T in bfloat16 float16 float32 float64 uint8 int8 int16 int32 int64 "
    "complex64 complex128 string) -> z: T",
    shape=broadcast_shape,
)
@broadcast_kernel
def _add_or_join(x: Array, y: Array) -> Array:
    return x + y


op("AddV2(x: T, y: T; T in sum) -> z: T", shape=broadcast_shape)(broadcast_kernel(np.add))
op("Sub(x: T, y: T; T in difference) -> z: T", shape=broadcast_shape)(broadcast_kernel(np.subtract))


def _add_gradient(record: OpRecord, grad: Any) -> Gradients:
    x, y = record.inputs
    if skips(record, 1) and is_scalar(y):
        return grad, None
    if same_known_shapes(x, y, grad):
        return grad, grad
    return gradients_of_both(record, grad, lambda: grad, lambda: grad)


gradient("Add")(_add_gradient)
gradient("AddV2")(_add_gradient)


@gradient("Sub")
def _sub_gradient(record: OpRecord, grad: Any) -> Gradients:
    x, y = record.inputs
    if skips(record, 1) and is_scalar(y):
        return grad, None
    if same_known_shapes(x, y, grad):
        return grad, -grad
    return gradients_of_both(record, grad, lambda: grad, lambda: -grad)


def _added_shape(i: Inference) -> TensorShape:
    shape = i.shape(0)
    for index in range(1, len(i.inputs)):
        try:
            shape = merged(shape, i.shape(index))
        except ValueError as error:
            raise ValueError(
                f"{error}\n\tFrom merging shape {index - 1} with other shapes."
            ) from None
    return shape


@op("AddN(inputs: N*T; N=2) -> sum: T", shape=_added_shape)
def _add_n(*inputs: Any) -> Any:
    if isinstance(inputs[0], np.ndarray) and any(each.shape != inputs[0].shape for each in inputs):
        other = next(k for k, each in enumerate(inputs) if each.shape != inputs[0].shape)
        raise InvalidArgumentError(
            None,
            None,
            f"Inputs to operation AddN of type AddN must have the same size and shape.  Input 0: "
            f"{dims_text(inputs[0].shape)} != input {other}: {dims_text(inputs[other].shape)}",
        )
    total = inputs[0]
    for each in inputs[1:]:
        total = total + each
    return total


@gradient("AddN")
def _add_n_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [grad] * len(record.inputs)


# -- products

op("Mul(x: T, y: T; T in product) -> z: T", shape=broadcast_shape)(broadcast_kernel(np.multiply))


@gradient("Mul")
def _mul_gradient(record: OpRecord, grad: Any) -> Gradients:
    x, y = record.inputs
    if skips(record, 1) and is_scalar(y):
        return call("Mul", grad, elementary.conj(y)), None
    if same_known_shapes(x, y, grad) and grad.dtype in (dtypes.int32, dtypes.float32):
        return call("Mul", grad, y), call("Mul", grad, x)
    if x.dtype.is_complex:
        return _complex_product_gradient(record, grad)
    return gradients_of_both(
        record, grad, lambda: call("Mul", grad, y), lambda: call("Mul", x, grad)
    )


def _complex_product_gradient(record: OpRecord, grad: Any) -> Gradients:
    """Both are conjugated after it is known how to reduce, and before anything is multiplied."""
    x, y = record.inputs
    of_x, of_y = reductions(x, y, grad)
    x, y = elementary.conj(x), elementary.conj(y)
    gx = None if skips(record, 0) else summed(call("Mul", grad, y), of_x)
    return gx, None if skips(record, 1) else summed(call("Mul", x, grad), of_y)


@op("MulNoNan(x: T, y: T; T in inexact) -> z: T", shape=broadcast_shape)
@broadcast_kernel
def _mul_no_nan(x: Array, y: Array) -> Array:
    """0 where y is 0, even if x is not a number."""
    return np.where(y == 0, np.zeros_like(y), x * y)


@gradient("MulNoNan")
def _mul_no_nan_gradient(record: OpRecord, grad: Any) -> Gradients:
    x, y = record.inputs
    if same_known_shapes(x, y, grad):
        return call("MulNoNan", grad, y), call("MulNoNan", x, grad)
    return gradients_of_both(
        record,
        grad,
        lambda: call("MulNoNan", grad, y),
        lambda: call("MulNoNan", x, grad),
        shortcuts=False,
    )


# -- quotients


def _divide(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu":
        return _truncated(x, y)
    return np.true_divide(x, y)


op("RealDiv(x: T, y: T; T in product) -> z: T", shape=broadcast_shape)(broadcast_kernel(_divide))
op("Div(x: T, y: T; T in product) -> z: T", shape=broadcast_shape)(broadcast_kernel(_divide))


def _quotient_gradient(quotient: Callable[[Any, Any], Any]) -> Callable[..., Gradients]:
    def backwards(record: OpRecord, grad: Any) -> Gradients:
        x, y = (elementary.conj(each) for each in record.inputs)
        return gradients_of_both(
            record,
            grad,
            lambda: quotient(grad, y),
            lambda: grad * quotient(quotient(-x, y), y),
            shortcuts=False,
        )

    return backwards


gradient("RealDiv")(_quotient_gradient(lambda x, y: call("RealDiv", x, y)))
gradient("Div")(_quotient_gradient(lib.divide))


@op("DivNoNan(x: T, y: T; T in inexact) -> z: T", shape=broadcast_shape)
@broadcast_kernel
def _div_no_nan(x: Array, y: Array) -> Array:
    """0 where y is 0."""
    return np.where(
        y == 0, np.zeros_like(y), np.true_divide(x, np.where(y == 0, np.ones_like(y), y))
    )


gradient("DivNoNan")(_quotient_gradient(lib.div_no_nan))


def _check_divisor(x: Array, y: Array) -> None:
    if x.dtype.kind in "iu" and not np.all(y):
        raise InvalidArgumentError(None, None, "Integer division by zero")


def _floor_divide(x: Array, y: Array) -> Array:
    _check_divisor(x, y)
    return np.floor_divide(x, y)


def _floor_mod(x: Array, y: Array) -> Array:
    _check_divisor(x, y)
    return np.mod(x, y)


def _truncated(x: Array, y: Array) -> Array:
    _check_divisor(x, y)
    if x.dtype.kind in "iu":
        quotient: Array = np.floor_divide(x, y)
        rounded_down = (quotient < 0) & (quotient * y != x)
        quotient += rounded_down.astype(x.dtype)
        return quotient
    return np.trunc(np.true_divide(x, y))


def _truncate_mod(x: Array, y: Array) -> Array:
    _check_divisor(x, y)
    return np.fmod(x, y)


op("FloorDiv(x: T, y: T; T in product) -> z: T", shape=broadcast_shape)(
    broadcast_kernel(_floor_divide)
)
op("FloorMod(x: T, y: T; T in real) -> z: T", shape=broadcast_shape)(broadcast_kernel(_floor_mod))
op("TruncateDiv(x: T, y: T; T in product) -> z: T", shape=broadcast_shape)(
    broadcast_kernel(_truncated)
)
op("TruncateMod(x: T, y: T; T in real) -> z: T", shape=broadcast_shape)(
    broadcast_kernel(_truncate_mod)
)


@gradient("FloorDiv")
def _floor_div_gradient(record: OpRecord, grad: Any) -> Gradients:  # noqa: ARG001 - it is flat
    return None, None


@gradient("TruncateDiv")
def _truncate_div_gradient(record: OpRecord, grad: Any) -> Gradients:  # noqa: ARG001 - it is flat
    return None, None


@gradient("FloorMod")
def _floor_mod_gradient(record: OpRecord, grad: Any) -> Gradients:
    x, y = elementary.conj(record.inputs[0]), elementary.conj(record.inputs[1])
    if since(2, 15):
        quotient = call("FloorDiv", x, y)
        return gradients_of_both(
            record, grad, lambda: grad, lambda: grad * call("Neg", quotient), shortcuts=False
        )
    of_x, of_y = by_op(x, y)
    quotient = call("FloorDiv", x, y)
    gx = summed(grad, of_x)
    return gx, summed(grad * call("Neg", quotient), of_y)


@op("Xdivy(x: T, y: T; T in half_first) -> z: T", shape=broadcast_shape)
@broadcast_kernel
def _xdivy(x: Array, y: Array) -> Array:
    """X / y, and 0 where x is 0."""
    return np.where(x == 0, np.zeros_like(x), np.true_divide(x, y))


@gradient("Xdivy")
def _xdivy_gradient(record: OpRecord, grad: Any) -> Gradients:
    x, y = record.inputs
    of_x, of_y = by_op(x, y)
    with control_dependencies([grad]):
        not_zero = _not_zero(x)
        partial_x = call("Xdivy", not_zero, y)
        partial_y = call("Xdivy", call("Neg", x), y**2)
        return summed(partial_x * grad, of_x), summed(partial_y * grad, of_y)


def _not_zero(x: Tensor) -> Tensor:
    """1 where x is not 0."""
    zero = elementary.cast(0.0, x.dtype)
    return elementary.cast(call("NotEqual", x, zero), x.dtype)


@op("Xlogy(x: T, y: T; T in half_first) -> z: T", shape=broadcast_shape)
@broadcast_kernel
def _xlogy(x: Array, y: Array) -> Array:
    """X * log(y), and 0 where x is 0."""
    return np.where(x == 0, np.zeros_like(x), x * np.log(y))


@gradient("Xlogy")
def _xlogy_gradient(record: OpRecord, grad: Any) -> Gradients:
    x, y = record.inputs
    of_x, of_y = by_op(x, y)
    with control_dependencies([grad]):
        partial_x = call("Xlogy", _not_zero(x), y)
        partial_y = call("Xdivy", x, y)
        return summed(partial_x * grad, of_x), summed(partial_y * grad, of_y)


@op("Xlog1py(x: T, y: T; T in half_first) -> z: T", shape=broadcast_shape)
@broadcast_kernel
def _xlog1py(x: Array, y: Array) -> Array:
    """X * log(1 + y), and 0 where x is 0."""
    return np.where(x == 0, np.zeros_like(x), x * np.log1p(y))


@gradient("Xlog1py")
def _xlog1py_gradient(record: OpRecord, grad: Any) -> Gradients:
    x, y = record.inputs
    of_x, of_y = by_op(x, y)
    with control_dependencies([grad]):
        partial_x = call("Xlog1py", _not_zero(x), y)
        partial_y = call("Xdivy", x, y + 1.0)
        return summed(partial_x * grad, of_x), summed(partial_y * grad, of_y)


op("NextAfter(x1: T, x2: T; T in float64 float32) -> output: T", shape=broadcast_shape)(
    broadcast_kernel(np.nextafter)
)

# -- powers and others


def _power(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu" and np.any(y < 0):
        raise InvalidArgumentError(
            None, None, "Integers to negative integer powers are not allowed"
        )
    return np.power(x, y)


op("Pow(x: T, y: T; T in power) -> z: T", shape=broadcast_shape)(broadcast_kernel(_power))


@gradient("Pow")
def _pow_gradient(record: OpRecord, grad: Any) -> Gradients:
    x, y = record.inputs
    if skips(record, 1) and is_scalar(y):
        x, y = elementary.conj(x), elementary.conj(y)
        return grad * y * lib.pow(x, y - 1), None
    x, y = elementary.conj(x), elementary.conj(y)
    return gradients_of_both(
        record,
        grad,
        lambda: grad * y * lib.pow(x, y - 1),
        lambda: _gradient_of_exponent(record, x, grad),
    )


def _gradient_of_exponent(record: OpRecord, x: Tensor, grad: Tensor) -> Tensor:
    power = elementary.conj(record.outputs[0])
    # log(x) where there is one
    mask = call("NotEqual", x, 0) if x.dtype.is_complex else x > 0
    safe = call("Select", mask, x, arrays.ones_like(x))
    logarithm = call("Select", mask, call("Log", safe), arrays.zeros_like(x))
    product: Tensor = grad * power * logarithm
    return product


op("Maximum(x: T, y: T; T in ordered) -> z: T", shape=broadcast_shape)(broadcast_kernel(np.maximum))
op("Minimum(x: T, y: T; T in ordered) -> z: T", shape=broadcast_shape)(broadcast_kernel(np.minimum))


def _selected_gradient(record: OpRecord, grad: Any, comparison: str) -> Gradients:
    """The gradient goes to the input that was chosen, where they are equal to the first."""
    x, y = record.inputs
    if skips(record, 1) and is_scalar(y):
        zeros = arrays.zeros_like(grad)
        return call("SelectV2", call(comparison, x, y), grad, zeros), None
    if since(2, 15):
        zeros, chosen = arrays.zeros_like(grad), call(comparison, x, y)
        return gradients_of_both(
            record,
            grad,
            lambda: call("SelectV2", chosen, grad, zeros),
            lambda: call("SelectV2", chosen, zeros, grad),
        )
    sx, sy = arrays.shape(x), arrays.shape(y)
    zeros = arrays.zeros_like(grad)
    chosen = call(comparison, x, y)
    rx, ry = broadcast_gradient_args(sx, sy)
    gx = gy = None
    if not skips(record, 0):
        gx = summed(call("SelectV2", chosen, grad, zeros), (sx, rx, True))
    if not skips(record, 1):
        gy = summed(call("SelectV2", chosen, zeros, grad), (sy, ry, True))
    return gx, gy


@gradient("Maximum")
def _maximum_gradient(record: OpRecord, grad: Any) -> Gradients:
    return _selected_gradient(record, grad, "GreaterEqual")


@gradient("Minimum")
def _minimum_gradient(record: OpRecord, grad: Any) -> Gradients:
    return _selected_gradient(record, grad, "LessEqual")


@op("SquaredDifference(x: T, y: T; T in number) -> z: T", shape=broadcast_shape)
@broadcast_kernel
def _squared_difference(x: Array, y: Array) -> Array:
    difference: Array = x - y
    return difference * np.conj(difference) if x.dtype.kind == "c" else difference * difference


@gradient("SquaredDifference")
def _squared_difference_gradient(record: OpRecord, grad: Any) -> Gradients:
    x, y = record.inputs
    with control_dependencies([grad]):
        gx = call("Mul", constant(2.0, grad.dtype, name="scalar"), grad) * (x - y)
    if same_known_shapes(x, y, grad):
        return gx, -gx
    if since(2, 15):
        return gradients_of_both(record, grad, lambda: gx, lambda: -gx)
    of_x, of_y = reductions(x, y, grad)
    return (
        None if skips(record, 0) else summed(gx, of_x),
        None if skips(record, 1) else -summed(gx, of_y),
    )


op("Atan2(y: T, x: T; T in float) -> z: T", shape=broadcast_shape)(broadcast_kernel(np.arctan2))


@gradient("Atan2")
def _atan2_gradient(record: OpRecord, grad: Any) -> Gradients:
    y, x = record.inputs
    with control_dependencies([grad]):
        if since(2, 15):
            scaled = grad / (call("Square", y) + call("Square", x))
            gy, gx = x * scaled, -y * scaled
            return gradients_of_both(record, grad, lambda: gy, lambda: gx)
        scaled = grad / (call("Square", x) + call("Square", y))
        return x * scaled, -y * scaled
