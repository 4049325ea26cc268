"""Ops that work on one number at a time. See `tensorflow/python/ops/math_grad.py`, `nn_grad.py`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from tflogscope.runtime.core import dtypes
from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.graph import control_dependencies
from tflogscope.runtime.core.registry import op
from tflogscope.runtime.core.shapes import broadcast as broadcast_shapes
from tflogscope.runtime.core.shapes import merged
from tflogscope.runtime.library import arrays, numbers
from tflogscope.runtime.ops.rules import (
    agreed,
    both,
    broadcast,
    invalid,
    of_scalar,
    same,
    same_known_shapes,
    skipped,
    summed,
)

Gradient = Callable[..., Any]


def _after(rule: Callable[[Any, Any], Any]) -> Gradient:
    """A gradient that waits for the one that it is made of, as TensorFlow's do."""

    def gradient(op: Any, grad: Any) -> Any:
        with control_dependencies([grad]):
            return rule(op, grad)

    return gradient


def _of_x(rule: Callable[[Any, Any], Any]) -> Gradient:
    return _after(lambda op, g: [rule(g, op.inputs[0])])


def _of_y(type: str, *, waits: bool = True) -> Gradient:
    def rule(op: Any, g: Any) -> Any:
        return [call(type, op.outputs[0], g)]

    return _after(rule) if waits else rule


def _erf(x: Any) -> Any:
    """NB: by `math.erf`, since NumPy has none."""
    return np.array([math.erf(each) for each in x.ravel()], x.dtype).reshape(x.shape)


def _erf_gradient(op: Any, g: Any) -> Any:
    factor = constant(2 / math.sqrt(math.pi), g.dtype)
    with control_dependencies([g]):
        return [g * factor * O.Exp(-O.Square(op.inputs[0]))]


def _square_gradient(g: Any, x: Any) -> Any:
    return O.Mul(g, O.Mul(x, constant(2.0, x.dtype)))


_FLAT = lambda op, g: [None]  # noqa: E731 - a row of the table
_T = "(x: T) -> y: T"
op("Abs" + _T, same, np.abs, lambda op, g: [g * O.Sign(op.inputs[0])])
op("Neg" + _T, same, np.negative, lambda op, g: [-g])
op("Sign" + _T, same, np.sign, lambda op, g: [arrays.zeros_like(op.inputs[0])])
op("Square" + _T, same, np.square, _of_x(_square_gradient))
op("Reciprocal" + _T, same, lambda x: 1 / x, _of_y("ReciprocalGrad", waits=False))
op("Sqrt" + _T, same, np.sqrt, _of_y("SqrtGrad", waits=False))
op("Rsqrt" + _T, same, lambda x: 1 / np.sqrt(x), _of_y("RsqrtGrad", waits=False))
op("Exp" + _T, same, np.exp, _after(lambda op, g: [g * op.outputs[0]]))
op("Log" + _T, same, np.log, _of_x(lambda g, x: g * O.Reciprocal(x)))
op("Log1p" + _T, same, np.log1p, _of_x(lambda g, x: g * O.Reciprocal(1 + x)))
op("Sin" + _T, same, np.sin, _of_x(lambda g, x: g * O.Cos(x)))
op("Cos" + _T, same, np.cos, _of_x(lambda g, x: -g * O.Sin(x)))
op("Tanh" + _T, same, np.tanh, _of_y("TanhGrad"))
op("Sigmoid" + _T, same, lambda x: 1 / (1 + np.exp(-x)), _of_y("SigmoidGrad"))
op("Erf" + _T, same, _erf, _erf_gradient)
op("Floor" + _T, same, np.floor, _FLAT)
op("Round" + _T, same, np.rint, _FLAT)
op("CheckNumerics(tensor: T; message='') -> output: T", same,
   lambda tensor, message: _checked(tensor, message), lambda op, g: [g])  # fmt: skip

# -- gradients that are ops of their own, of the output y and its gradient dy
_GRAD = "(y: T, dy: T) -> z: T"


@_after
def _tanh_grad_gradient(op: Any, g: Any) -> Any:
    a, b = op.inputs
    return [g * -2.0 * b * a, O.TanhGrad(a, g)]


op("TanhGrad" + _GRAD, same, lambda y, dy: dy * (1 - y * y), _tanh_grad_gradient)
op("SigmoidGrad" + _GRAD, same, lambda y, dy: dy * y * (1 - y))
op("SqrtGrad" + _GRAD, same, lambda y, dy: dy * 0.5 / y)
op("RsqrtGrad" + _GRAD, same, lambda y, dy: -0.5 * dy * y * y * y)
op("ReciprocalGrad" + _GRAD, same, lambda y, dy: -dy * y * y)

# -- two inputs, broadcast against each other
_XY = "(x: T, y: T) -> z: T"


def _add_gradient(op: Any, g: Any, sign: int = 1) -> Any:
    if of_scalar(op):
        return [g, None]
    if same_known_shapes(op.inputs[0], op.inputs[1], g):
        return [g, g if sign > 0 else -g]
    return both(op, g, lambda: g, lambda: g if sign > 0 else -g)


def _mul_gradient(op: Any, g: Any) -> Any:
    x, y = op.inputs
    if of_scalar(op):
        return [O.Mul(g, y), None]
    if same_known_shapes(x, y, g) and g.dtype in {dtypes.int32, dtypes.float32}:
        return [O.Mul(g, y), O.Mul(g, x)]
    return both(op, g, lambda: O.Mul(g, y), lambda: O.Mul(x, g))


def _quotient_gradient(quotient: Callable[[Any, Any], Any]) -> Gradient:
    def gradient(op: Any, g: Any) -> Any:
        x, y = op.inputs
        of_y = lambda: g * quotient(quotient(-x, y), y)  # noqa: E731
        return both(op, g, lambda: quotient(g, y), of_y, always=True)

    return gradient


def _pow_gradient(op: Any, g: Any) -> Any:
    x, y = op.inputs
    if of_scalar(op):
        return [g * y * numbers.pow_(x, y - 1), None]

    if 1 not in skipped(op):
        raise NotInThisRuntime("the gradient of an exponent")
    return both(op, g, lambda: g * y * numbers.pow_(x, y - 1), lambda: None)


def _extreme_gradient(comparison: str) -> Gradient:
    def gradient(op: Any, g: Any) -> Any:
        x, y = op.inputs
        if of_scalar(op):
            zeros = arrays.zeros_like(g)
            return [O.SelectV2(call(comparison, x, y), g, zeros), None]
        sx, sy = arrays.shape(x), arrays.shape(y)
        zeros, chosen = arrays.zeros_like(g), call(comparison, x, y)
        rx, ry = O.BroadcastGradientArgs(sx, sy)
        gx = None if 0 in skipped(op) else summed(O.SelectV2(chosen, g, zeros), (sx, rx))
        return [gx, None if 1 in skipped(op) else summed(O.SelectV2(chosen, zeros, g), (sy, ry))]

    return gradient


def _squared_difference_gradient(op: Any, g: Any) -> Any:
    x, y = op.inputs
    with control_dependencies([g]):
        gx = O.Mul(constant(2.0, g.dtype, name="scalar"), g) * (x - y)
    if same_known_shapes(x, y, g):
        return [gx, -gx]
    found = both(op, g, lambda: gx, lambda: gx)
    return [found[0], None if found[1] is None else -found[1]]


def _not_zero(y: Any) -> Any:
    if y.dtype.kind in "iu" and not np.all(y):
        raise invalid("Integer division by zero")
    return y


def _div_no_nan(x: Any, y: Any) -> Any:
    return np.where(y == 0, np.zeros_like(y), np.true_divide(x, np.where(y == 0, 1, y)))


op("AddV2" + _XY, broadcast, np.add, _add_gradient)
op("Sub" + _XY, broadcast, np.subtract, lambda op, g: _add_gradient(op, g, -1))
op("Mul" + _XY, broadcast, np.multiply, _mul_gradient)
op("RealDiv" + _XY, broadcast, np.true_divide, _quotient_gradient(lambda x, y: O.RealDiv(x, y)))
op("DivNoNan" + _XY, broadcast, _div_no_nan, _quotient_gradient(numbers.div_no_nan))
op("FloorDiv" + _XY, broadcast, lambda x, y: np.floor_divide(x, _not_zero(y)),
   lambda op, g: [None, None])  # fmt: skip
op("FloorMod" + _XY, broadcast, lambda x, y: np.mod(x, _not_zero(y)))
op("Pow" + _XY, broadcast, np.power, _pow_gradient)
op("Maximum" + _XY, broadcast, np.maximum, _extreme_gradient("GreaterEqual"))
op("Minimum" + _XY, broadcast, np.minimum, _extreme_gradient("LessEqual"))
op("SquaredDifference" + _XY, broadcast, lambda x, y: (x - y) ** 2, _squared_difference_gradient)
op("AddN(inputs: N*T) -> sum: T", agreed, lambda *inputs: reduce(operator.add, inputs),
   lambda op, g: [g] * len(op.inputs))  # fmt: skip
for _type, _kernel in {
    "Equal": np.equal, "NotEqual": np.not_equal, "Less": np.less, "LessEqual": np.less_equal,
    "Greater": np.greater, "GreaterEqual": np.greater_equal,
}.items():  # fmt: skip
    _option = "; incompatible_shape_error=True" if "Equal" in _type[:8] else ""
    op(f"{_type}(x: T, y: T{_option}) -> z: bool", broadcast, _kernel)
op("LogicalAnd(x: bool, y: bool) -> z: bool", broadcast, np.logical_and)
op("LogicalOr(x: bool, y: bool) -> z: bool", broadcast, np.logical_or)
op("LogicalNot(x: bool) -> y: bool", same, np.logical_not)


def _checked(tensor: Any, message: str) -> Any:
    bad = [word for word, test in (("Inf", np.isinf), ("NaN", np.isnan)) if np.any(test(tensor))]
    if bad:
        raise invalid(f"{message} : Tensor had {' and '.join(bad)} values")
    return tensor


# -- choosing


def _select_gradient(op: Any, g: Any) -> Any:
    condition, zeros = op.inputs[0], arrays.zeros_like(op.inputs[1])
    return [None, O.Select(condition, g, zeros), O.Select(condition, zeros, g)]


def _select_v2_gradient(op: Any, g: Any) -> Any:
    condition, x, y = op.inputs
    zeros = arrays.zeros([], dtype=g.dtype)
    gx = O.SelectV2(condition, g, zeros)
    shape = arrays.shape(x)
    output = arrays.shape(op.outputs[0])
    rx, _ = O.BroadcastGradientArgs(shape, output)
    gx = arrays.reshape(numbers.reduce_sum(gx, rx, keepdims=True), shape)
    gy = O.SelectV2(condition, zeros, g)
    shape = arrays.shape(y)
    ry, _ = O.BroadcastGradientArgs(shape, output)
    return [None, gx, arrays.reshape(numbers.reduce_sum(gy, ry, keepdims=True), shape)]


op("Select(condition: bool, t: T, e: T) -> output: T", lambda i: merged(i.shape(1), i.shape(2)),
   np.where, _select_gradient)  # fmt: skip
op("SelectV2(condition: bool, t: T, e: T) -> output: T",
   lambda i: broadcast_shapes(i.shape(0), i.shape(1), i.shape(2)), np.where,
   _select_v2_gradient)  # fmt: skip


# -- activations
def _cast_gradient(op: Any, g: Any) -> Any:
    source = op.inputs[0].dtype
    return [arrays.cast(g, source) if source.is_floating and g.dtype.is_floating else None]


op("Cast(x: SrcT; DstT, Truncate=False) -> y: DstT", same,
   lambda x, DstT: x.astype(DstT.as_numpy_dtype), _cast_gradient)  # fmt: skip
op("Relu(features: T) -> activations: T", same, lambda x: np.maximum(x, 0),
   lambda op, g: [O.ReluGrad(g, op.outputs[0])])  # fmt: skip
op("Elu(features: T) -> activations: T", same,
   lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x),
   lambda op, g: [O.EluGrad(g, op.outputs[0])])  # fmt: skip
op("Softplus(features: T) -> activations: T", same, lambda x: np.logaddexp(x, 0),
   lambda op, g: [g * O.Sigmoid(op.inputs[0])])  # fmt: skip
_GF = "(gradients: T, features: T) -> backprops: T"
_RELU_GRAD = lambda op, g: [O.ReluGrad(g, op.inputs[1]), None]  # noqa: E731
op("ReluGrad" + _GF, agreed, lambda g, x: g * (x > 0), _RELU_GRAD)
op("EluGrad" + _GF, agreed, lambda g, y: np.where(y < 0, g * (y + 1), g))


def _bias_shape(i: Any) -> Any:
    if i["data_format"] != "NHWC":
        raise NotInThisRuntime("A bias of channels that are not last")
    if i.shape(0).rank is not None and i.shape(1).rank is not None:
        i.shape(0)[-1:].assert_is_compatible_with(i.shape(1))
    return i.shape(0)


op("BiasAdd(value: T, bias: T; data_format='NHWC') -> output: T", _bias_shape,
   lambda value, bias: value + bias, lambda op, g: [g, O.BiasAddGrad(g)])  # fmt: skip
op("BiasAddGrad(out_backprop: T; data_format='NHWC') -> output: T", lambda i: i.shape(0)[-1:],
   lambda dy: dy.sum(tuple(range(dy.ndim - 1))))  # fmt: skip
