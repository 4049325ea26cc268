"""Arithmetic and comparison: the dtypes of both sides are brought together first.

Told about: `keras/src/backend/tensorflow/numpy.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.backend import floatx
from tflogscope.runtime.keras3 import dtypes
from tflogscope.runtime.keras3.operation import operation
from tflogscope.runtime.keras3.ops import slices
from tflogscope.runtime.keras3.ops.core import convert_to_tensor

__all__ = [
    "absolute", "add", "ceil", "divide", "divide_no_nan", "equal", "exp", "floor", "floor_divide",
    "greater", "greater_equal", "less", "less_equal", "log", "logical_and", "logical_not",
    "logical_or", "logsumexp", "matmul", "maximum", "minimum", "mod", "multiply", "negative",
    "not_equal", "power", "rsqrt", "sign", "sqrt", "square", "subtract", "tanh",
]  # fmt: skip


def _together(x1: Any, x2: Any, *others: Any) -> tuple[Any, Any]:
    """Both as tensors of one dtype."""
    x1, x2 = (x if isinstance(x, (int, float)) else convert_to_tensor(x) for x in (x1, x2))
    dtype = dtypes.result_type(*(getattr(x, "dtype", type(x)) for x in (x1, x2)), *others)
    return convert_to_tensor(x1, dtype), convert_to_tensor(x2, dtype)


@operation
@slices.union
def add(x1: Any, x2: Any) -> Any:
    """The sum; `BiasAdd` where the second is one number per channel of the first."""
    x1, x2 = _together(x1, x2)
    wide = [dim for dim in x2.shape.as_list() if dim is None or dim > 1]
    dims = x1.shape.as_list()
    if len(wide) == 1 and len(dims) > 1 and wide[0] is not None and wide[0] in (dims[1], dims[-1]):
        last = dims[-1] == wide[0]
        bias = tf.squeeze(x2) if len(x2.shape) > 1 else x2
        return tf.nn.bias_add(x1, bias, data_format="NHWC" if last else "NCHW")
    return tf.add(x1, x2)


@operation
@slices.union
def subtract(x1: Any, x2: Any) -> Any:
    """The difference."""
    return tf.subtract(*_together(x1, x2))


@operation
@slices.intersection
def multiply(x1: Any, x2: Any) -> Any:
    """The product, element by element."""
    return tf.multiply(*_together(x1, x2))


@operation
@slices.division
def divide(x1: Any, x2: Any) -> Any:
    """The quotient; of integers as a float."""
    return tf.divide(*_together(x1, x2, float))


@operation
def divide_no_nan(x1: Any, x2: Any) -> Any:
    """The quotient; 0 where it is divided by 0."""
    return tf.math.divide_no_nan(*_together(x1, x2, float))


@operation
def floor_divide(x1: Any, x2: Any) -> Any:
    """The quotient, rounded down."""
    return tf.math.floordiv(*_together(x1, x2))


@operation
def mod(x1: Any, x2: Any) -> Any:
    """The remainder, with the sign of the divisor."""
    return tf.math.floormod(*_together(x1, x2))


@operation
def power(x1: Any, x2: Any) -> Any:
    """The power."""
    return tf.pow(*_together(x1, x2))


@operation
@slices.union
def maximum(x1: Any, x2: Any) -> Any:
    """The larger, element by element."""
    return tf.maximum(*_together(x1, x2))


@operation
@slices.union
def minimum(x1: Any, x2: Any) -> Any:
    """The smaller, element by element."""
    return tf.minimum(*_together(x1, x2))


@operation
def matmul(x1: Any, x2: Any) -> Any:
    """The product of matrices; a sequence of vectors by a matrix is a `tensordot`."""
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    compute = dtypes.result_type(x1.dtype, x2.dtype, float)
    result = dtypes.result_type(x1.dtype, x2.dtype)
    x1, x2 = tf.cast(x1, compute), tf.cast(x2, compute)
    one, two = len(x1.shape), len(x2.shape)
    if one == two == 2:
        product = tf.matmul(x1, x2)
    elif two == 1:
        product = tf.tensordot(x1, x2, axes=1)
    elif one == 1:
        product = tf.tensordot(x1, x2, axes=[[0], [-2]])
    elif two == 2:
        product = tf.tensordot(x1, x2, axes=[[-1], [0]])
    else:
        product = tf.matmul(x1, x2)
    return tf.cast(product, result)


def _comparison(name: str, function: Callable[..., Any], text: str) -> Callable[..., Any]:
    def compare(x1: Any, x2: Any) -> Any:
        x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
        dtype = dtypes.result_type(x1.dtype, x2.dtype)
        return function(tf.cast(x1, dtype), tf.cast(x2, dtype))

    compare.__name__, compare.__doc__ = name, text
    return operation(compare)


equal = _comparison("equal", tf.equal, "Where both are equal.")
not_equal = _comparison("not_equal", tf.not_equal, "Where they differ.")
less = _comparison("less", tf.less, "Where the first is smaller.")
less_equal = _comparison("less_equal", tf.less_equal, "Where the first is not larger.")
greater = _comparison("greater", tf.greater, "Where the first is larger.")
greater_equal = _comparison("greater_equal", tf.greater_equal, "Where the first is not smaller.")


def _logical(name: str, function: Callable[..., Any], text: str) -> Callable[..., Any]:
    def combine(*xs: Any) -> Any:
        return function(*(tf.cast(x, "bool") for x in xs))

    combine.__name__, combine.__doc__ = name, text
    return operation(combine)


logical_and = _logical("logical_and", tf.logical_and, "Where both are true.")
logical_or = _logical("logical_or", tf.logical_or, "Where one is true.")
logical_not = _logical("logical_not", tf.logical_not, "Where it is false.")


def _floating(name: str, function: Callable[..., Any], text: str) -> Callable[..., Any]:
    def compute(x: Any) -> Any:
        x = convert_to_tensor(x)
        is_long = dtypes.standardize(x.dtype) == "int64"
        return function(tf.cast(x, floatx() if is_long else dtypes.result_type(x.dtype, float)))

    compute.__name__, compute.__doc__ = name, text
    return operation(compute)


sqrt = _floating("sqrt", tf.math.sqrt, "The square root.")
log = _floating("log", tf.math.log, "The natural logarithm.")
exp = _floating("exp", tf.exp, "The exponential function.")
ceil = _floating("ceil", tf.math.ceil, "The smallest integer that is not smaller.")
floor = _floating("floor", tf.floor, "The largest integer that is not larger.")
rsqrt = operation(tf.math.rsqrt)
sign = operation(tf.sign)
tanh = operation(tf.nn.tanh)


@operation
@slices.unary
def square(x: Any) -> Any:
    """The square."""
    return tf.square(convert_to_tensor(x))


@operation
@slices.unary
def absolute(x: Any) -> Any:
    """Without its sign."""
    return tf.abs(convert_to_tensor(x))


@operation
@slices.unary
def negative(x: Any) -> Any:
    """With the other sign."""
    return tf.negative(x)


@operation
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The logarithm of the sum of exponentials."""
    return tf.reduce_logsumexp(x, axis=axis, keepdims=keepdims)
