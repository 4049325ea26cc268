"""Functions of one tensor, element by element: Neg, Exp, Sqrt, Tanh, Cast, …, and the ops of their
gradients.

Most gradients first wait for the incoming one (`control_dependencies`), so that nothing is computed
before it is needed.

Told about: `core/ops/math_ops.cc`, `core/kernels/cwise_op_*.cc`, `python/ops/math_grad.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime import dtypes
from tflogscope.runtime.conversion import constant
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import UnimplementedError
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library import elementary as lib
from tflogscope.runtime.library.arithmetic import add
from tflogscope.runtime.node_text import short_name
from tflogscope.runtime.ops.call import call, control_dependencies
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.ops.special import (
    digamma,
    erf,
    erfc,
    erfinv,
    lgamma,
    ndtri,
    polygamma,
    zeta,
)
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.tensors import Tensor

Array = NDArray[Any]


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    return np.asarray(1 / (1 + np.exp(-x)), x.dtype)


def _round_half_even(x: Array) -> Array:
    return x if x.dtype.kind in "iu" else np.rint(x)


def _sign(x: Array) -> Array:
    return np.asarray(np.sign(x), x.dtype)


_of_floats: dict[str, Callable[..., Any]] = {
    "Ceil": np.ceil,
    "Digamma": digamma,
    "Erf": erf,
    "Erfc": erfc,
    "Erfinv": erfinv,
    "Floor": np.floor,
    "Lgamma": lgamma,
    "Ndtri": ndtri,
    "Rint": np.rint,
}
for _type, _kernel in _of_floats.items():
    op(f"{_type}(x: T; T in float) -> y: T")(_kernel)

_of_inexact: dict[str, Callable[..., Any]] = {
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Exp": np.exp,
    "Expm1": np.expm1,
    "Log": np.log,
    "Log1p": np.log1p,
    "Rsqrt": lambda x: np.asarray(1 / np.sqrt(x), x.dtype),
    "Sigmoid": sigmoid,
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Sqrt": np.sqrt,
    "Tan": np.tan,
    "Tanh": np.tanh,
}
for _type, _kernel in _of_inexact.items():
    op(f"{_type}(x: T; T in inexact) -> y: T")(_kernel)

_of_numbers: dict[str, Callable[..., Any]] = {
    "Abs": np.abs,
    "Inv": lambda x: np.asarray(1 / x, x.dtype),
    "Reciprocal": lambda x: np.asarray(1 / x, x.dtype),
    "Round": _round_half_even,
    "Sign": _sign,
    "Square": np.square,
}
for _type, _kernel in _of_numbers.items():
    op(f"{_type}(x: T; T in number) -> y: T")(_kernel)

op("Neg(x: T; T in signed) -> y: T")(np.negative)

for _type, _kernel in {"IsFinite": np.isfinite, "IsInf": np.isinf, "IsNan": np.isnan}.items():
    op(f"{_type}(x: T; T in float) -> y: bool")(_kernel)


op("Polygamma(a: T, x: T; T in float32 float64) -> z: T")(polygamma)
op("Zeta(x: T, q: T; T in float32 float64) -> z: T")(zeta)

# -- gradients that are ops of their own, of the output y and its gradient dy

op("InvGrad(y: T, dy: T; T in inexact) -> z: T")(lambda y, dy: -dy * y * y)
op("ReciprocalGrad(y: T, dy: T; T in inexact) -> z: T")(lambda y, dy: -dy * y * y)
op("RsqrtGrad(y: T, dy: T; T in inexact) -> z: T")(
    lambda y, dy: np.asarray(-0.5 * dy * y * y * y, y.dtype)
)
op("SigmoidGrad(y: T, dy: T; T in inexact) -> z: T")(lambda y, dy: dy * y * (1 - y))
op("SqrtGrad(y: T, dy: T; T in inexact) -> z: T")(lambda y, dy: np.asarray(dy * 0.5 / y, y.dtype))
op("TanhGrad(y: T, dy: T; T in inexact) -> z: T")(lambda y, dy: dy * (1 - y * y))


def _by_op_of_output(type: str, grad_type: str, *, waits: bool) -> None:
    """The gradient is an op of the output."""

    @gradient(type)
    def of_output(record: OpRecord, grad: Any) -> Any:
        if not waits:
            return [call(grad_type, record.outputs[0], grad)]
        with control_dependencies([grad]):
            return [call(grad_type, lib.conj(record.outputs[0]), grad)]


_by_op_of_output("Inv", "ReciprocalGrad", waits=False)
_by_op_of_output("Reciprocal", "ReciprocalGrad", waits=False)
_by_op_of_output("Rsqrt", "RsqrtGrad", waits=False)
_by_op_of_output("Sqrt", "SqrtGrad", waits=False)
_by_op_of_output("Sigmoid", "SigmoidGrad", waits=True)
_by_op_of_output("Tanh", "TanhGrad", waits=True)


# -- gradients that are arithmetic of the input x


def _one(grad: Tensor) -> Tensor:
    return constant(1, grad.dtype)


def _acos_gradient(grad: Tensor, x: Tensor) -> Any:
    inverse = _inverse_root(grad, x)
    return -grad * inverse


def _inverse_root(grad: Tensor, x: Tensor) -> Any:
    """1 / sqrt(1 - x²)."""
    square = call("Square", x)
    return call("Reciprocal", call("Sqrt", call("Sub", _one(grad), square)))


def _atan_gradient(grad: Tensor, x: Tensor) -> Any:
    square = call("Square", x)
    return grad * call("Reciprocal", add(_one(grad), square))


def _atanh_gradient(grad: Tensor, x: Tensor) -> Any:
    square = call("Square", x)
    return grad * call("Reciprocal", call("Sub", _one(grad), square))


def _square_gradient(grad: Tensor, x: Tensor) -> Any:
    two = constant(2.0, x.dtype)
    return call("Mul", grad, call("Mul", x, two))


_OF_INPUT: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "Acos": _acos_gradient,
    "Asin": lambda grad, x: grad * _inverse_root(grad, x),
    "Atan": _atan_gradient,
    "Atanh": _atanh_gradient,
    "Cos": lambda grad, x: -grad * call("Sin", x),
    "Cosh": lambda grad, x: grad * call("Sinh", x),
    "Digamma": lambda grad, x: grad * call("Polygamma", constant(1, x.dtype), x),
    "Expm1": lambda grad, x: grad * call("Exp", x),
    "Lgamma": lambda grad, x: grad * call("Digamma", x),
    "Log": lambda grad, x: grad * call("Reciprocal", x),
    "Log1p": lambda grad, x: grad * call("Reciprocal", 1 + x),
    "Sin": lambda grad, x: grad * call("Cos", x),
    "Sinh": lambda grad, x: grad * call("Cosh", x),
    "Square": _square_gradient,
    "Tan": lambda grad, x: call("Square", call("Reciprocal", call("Cos", x))) * grad,
}
_OF_OUTPUT: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "Acosh": lambda grad, y: grad / call("Sinh", y),
    "Asinh": lambda grad, y: grad / call("Cosh", y),
    "Exp": lambda grad, y: grad * y,
}


def _by_formula(type: str, formula: Callable[[Tensor, Tensor], Any], *, of_output: bool) -> None:
    @gradient(type)
    def by_formula(record: OpRecord, grad: Any) -> Any:
        with control_dependencies([grad]):
            x = lib.conj(record.outputs[0] if of_output else record.inputs[0])
            return [formula(grad, x)]


for _type, _formula in _OF_INPUT.items():
    _by_formula(_type, _formula, of_output=False)
for _type, _formula in _OF_OUTPUT.items():
    _by_formula(_type, _formula, of_output=True)


def _erf_like_gradient(type: str, factor: float) -> None:
    @gradient(type)
    def erf_like(record: OpRecord, grad: Any) -> Any:
        factors = constant(factor, grad.dtype)
        with control_dependencies([grad]):
            x = lib.conj(record.inputs[0])
            return [grad * factors * call("Exp", -call("Square", x))]


_erf_like_gradient("Erf", 2 / math.sqrt(math.pi))
_erf_like_gradient("Erfc", -2 / math.sqrt(math.pi))


@gradient("Erfinv")
def _erfinv_gradient(record: OpRecord, grad: Any) -> Any:
    factor = constant(math.sqrt(math.pi) / 2, grad.dtype)
    with control_dependencies([grad]):
        return [grad * factor * call("Exp", call("Square", record.outputs[0]))]


@gradient("Ndtri")
def _ndtri_gradient(record: OpRecord, grad: Any) -> Any:
    factor = constant(math.sqrt(2 * math.pi), grad.dtype)
    with control_dependencies([grad]):
        return [grad * factor * call("Exp", call("Square", record.outputs[0]) / 2.0)]


@gradient("Abs")
def _abs_gradient(record: OpRecord, grad: Any) -> Any:
    return [grad * lib.sign(record.inputs[0])]


@gradient("Neg")
def _neg_gradient(record: OpRecord, grad: Any) -> Any:  # noqa: ARG001
    return [-grad]


@gradient("Sign")
def _sign_gradient(record: OpRecord, grad: Any) -> Any:  # noqa: ARG001
    return [arrays.zeros_like(record.inputs[0])]


for _type in ("Floor", "Ceil", "Round", "Rint"):

    @gradient(_type)
    def _flat(record: OpRecord, grad: Any) -> Any:  # noqa: ARG001
        return [None]


# -- second gradients


def _inv_grad_gradient(record: OpRecord, grad: Any) -> Any:
    b = record.inputs[1]
    with control_dependencies([grad]):
        a, grad = lib.conj(record.inputs[0]), lib.conj(grad)
        return [grad * -2.0 * b * a, call("ReciprocalGrad", a, grad)]


gradient("InvGrad")(_inv_grad_gradient)
gradient("ReciprocalGrad")(_inv_grad_gradient)


@gradient("SqrtGrad")
def _sqrt_grad_gradient(record: OpRecord, grad: Any) -> Any:
    a, y = record.inputs[0], record.outputs[0]
    with control_dependencies([grad]):
        scaled = grad / a
        return [-lib.conj(scaled) * y, 0.5 * scaled]


@gradient("RsqrtGrad")
def _rsqrt_grad_gradient(record: OpRecord, grad: Any) -> Any:
    a, b = record.inputs
    with control_dependencies([grad]):
        a, conjugate = lib.conj(a), lib.conj(grad)
        return [-1.5 * conjugate * b * call("Square", a), call("RsqrtGrad", a, grad)]


@gradient("TanhGrad")
def _tanh_grad_gradient(record: OpRecord, grad: Any) -> Any:
    with control_dependencies([grad]):
        a, b = lib.conj(record.inputs[0]), lib.conj(record.inputs[1])
        return [grad * -2.0 * b * a, call("TanhGrad", a, grad)]


@gradient("SigmoidGrad")
def _sigmoid_grad_gradient(record: OpRecord, grad: Any) -> Any:
    with control_dependencies([grad]):
        a, b = lib.conj(record.inputs[0]), lib.conj(record.inputs[1])
        product = grad * b
        return [product - 2.0 * product * a, call("SigmoidGrad", a, grad)]


# -- types


@op("Cast(x: SrcT; DstT, Truncate=False) -> y: DstT")
def cast(x: Array, DstT: DType, SrcT: DType) -> Array:
    """Another dtype: floats lose their fraction on the way to integers, anything but 0 is True."""
    if dtypes.string in (SrcT, DstT) and SrcT is not DstT:
        text = f"Cast {short_name(SrcT)} to {short_name(DstT)} is not supported"
        raise UnimplementedError(None, None, text)
    if DstT is dtypes.bfloat16:
        return x.astype(np.float32)
    if SrcT.is_complex and not DstT.is_complex:
        x = x.real
    return x.astype(DstT.as_numpy_dtype)


@gradient("Cast")
def _cast_gradient(record: OpRecord, grad: Any) -> Any:
    source = record.inputs[0].dtype
    floats = all(each.is_floating or each.is_complex for each in (source, grad.dtype))
    return [lib.cast(grad, source) if floats else None]
