"""Functions of one tensor: `tf.abs`, `tf.exp`, `tf.cast`, `tf.sigmoid` and others.

Told about: `python/ops/math_ops.py`.
"""

from __future__ import annotations

import math
from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.ops.call import call, generated
from tflogscope.runtime.tensors import Tensor

acos = generated("Acos")
acosh = generated("Acosh")
asin = generated("Asin")
asinh = generated("Asinh")
atan = generated("Atan")
atanh = generated("Atanh")
ceil = generated("Ceil")
cos = generated("Cos")
cosh = generated("Cosh")
digamma = generated("Digamma")
erf = generated("Erf")
erfc = generated("Erfc")
exp = generated("Exp")
expm1 = generated("Expm1")
floor = generated("Floor")
is_finite = generated("IsFinite")
is_inf = generated("IsInf")
is_nan = generated("IsNan")
lgamma = generated("Lgamma")
log = generated("Log")
log1p = generated("Log1p")
negative = generated("Neg")
polygamma = generated("Polygamma")
reciprocal = generated("Reciprocal")
rint = generated("Rint")
rsqrt = generated("Rsqrt")
sin = generated("Sin")
sinh = generated("Sinh")
sqrt = generated("Sqrt")
square = generated("Square")
tan = generated("Tan")
zeta = generated("Zeta")
tanh = generated("Tanh")


def abs(x: Any, name: str | None = None) -> Tensor:
    """The absolute value."""
    with op_scope(name, "Abs") as name:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return call("ComplexAbs", x, Tout=x.dtype.real_dtype, name=name)
        return call("Abs", x, name=name)


def sign(x: Any, name: str | None = None) -> Tensor:
    """-1, 0 or 1."""
    return call("Sign", convert_to_tensor(x), name=name)


def round(x: Any, name: str | None = None) -> Tensor:
    """To the nearest whole number, halves to the even one; integers stay as they are."""
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else call("Round", x, name=name)


def sigmoid(x: Any, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x))."""
    with op_scope(name, "Sigmoid") as name:
        return call("Sigmoid", convert_to_tensor(x, name="x"), name=name)


def erfinv(x: Any, name: str | None = None) -> Tensor:
    """The inverse of erf."""
    with op_scope(name, "erfinv"):
        return call("Erfinv", x)


def ndtri(x: Any, name: str | None = None) -> Tensor:
    """Below which value this share of the normal distribution lies."""
    with op_scope(name, "ndtri"):
        return call("Ndtri", x)


def erfcinv(x: Any, name: str | None = None) -> Tensor:
    """The inverse of erfc."""
    with op_scope(name, "erfcinv"):
        x = convert_to_tensor(x, name="start")
        return -ndtri(0.5 * x) * math.sqrt(0.5)  # type: ignore[no-any-return]


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """log(sigmoid(x)), also where that is small."""
    with op_scope(name, "LogSigmoid") as name:
        x = convert_to_tensor(x, name="x")
        return call("Neg", call("Softplus", -x), name=name)


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0."""
    with op_scope(name, "reciprocal_no_nan") as name:
        x = convert_to_tensor(x, name="x")
        return call("DivNoNan", convert_to_tensor(1, x.dtype, name="one"), x, name=name)


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`x` with another dtype; itself if it has that dtype, and is no variable that was created
    while tracing.
    """
    target = dtypes.as_dtype(dtype)
    slices = hasattr(x, "dense_shape")
    tensor_like = hasattr(x, "dtype") and hasattr(x, "shape") and getattr(x, "plain", True)
    if tensor_like and x.dtype is target and not slices:
        return x  # type: ignore[no-any-return]
    with op_scope(name, "Cast") as name:
        if slices:
            return type(x)(cast(x.values, target, name), x.indices, x.dense_shape)  # type: ignore[no-any-return]
        tensor: Tensor = convert_to_tensor(x, name="x")
        if tensor.dtype is target:
            return tensor
        result: Tensor = call("Cast", tensor, DstT=target, name=name)
        return result


def conj(x: Any, name: str | None = None) -> Any:
    """The complex conjugate; itself if it is real."""
    if isinstance(x, Tensor) and not x.dtype.is_complex:
        return x
    with op_scope(name, "Conj") as name:
        x = convert_to_tensor(x, name="x")
        return call("Conj", x, name=name) if x.dtype.is_complex else x
