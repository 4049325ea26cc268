"""Functions of `keras.ops` that programs call and Keras itself hardly does.

Told about: `keras/src/backend/tensorflow/numpy.py`, `nn.py`, `math.py`, `linalg.py`, `core.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.backend import floatx
from tflogscope.runtime.keras3 import dtypes
from tflogscope.runtime.keras3.operation import operation
from tflogscope.runtime.keras3.ops.core import convert_to_tensor

__all__ = [
    "arange", "argsort", "cos", "elu", "expm1", "eye", "fori_loop", "full", "full_like", "isnan",
    "leaky_relu", "log1p", "log_sigmoid", "log_softmax", "moveaxis", "norm", "outer", "relu6",
    "roll", "selu", "sin", "slice", "softsign", "sort", "std", "stop_gradient", "swapaxes", "tan",
    "top_k", "tril", "triu", "unstack", "var", "while_loop",
]  # fmt: skip


def _in_floats(name: str, function: Callable[..., Any], text: str) -> Callable[..., Any]:
    """A function of floats; integers become such."""

    def apply(x: Any) -> Any:
        x = convert_to_tensor(x)
        wide = dtypes.standardize(x.dtype) == "int64"
        return function(tf.cast(x, floatx() if wide else dtypes.result_type(x.dtype, float)))

    apply.__name__, apply.__doc__ = name, text
    return operation(apply)


sin = _in_floats("sin", tf.math.sin, "The sine.")
cos = _in_floats("cos", tf.math.cos, "The cosine.")
tan = _in_floats("tan", tf.math.tan, "The tangent.")
log1p = _in_floats("log1p", tf.math.log1p, "log(1 + x).")
expm1 = _in_floats("expm1", tf.math.expm1, "exp(x) - 1.")

relu6, selu, softsign = map(operation, (tf.nn.relu6, tf.nn.selu, tf.nn.softsign))
log_sigmoid = operation(tf.math.log_sigmoid)
stop_gradient = operation(tf.stop_gradient)


@operation
def elu(x: Any, alpha: float = 1.0) -> Any:
    """x, or alpha * (exp(x) - 1) below 0."""
    found = tf.nn.elu(x)
    return found if alpha == 1 else tf.where(x > 0, found, alpha * found)


@operation
def leaky_relu(x: Any, negative_slope: float = 0.2) -> Any:
    """x, or a part of it below 0."""
    return tf.nn.leaky_relu(x, alpha=negative_slope)


@operation
def log_softmax(x: Any, axis: int = -1) -> Any:
    """The logarithm of softmax."""
    return tf.nn.log_softmax(x, axis=axis)


@operation
def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The variance."""
    x = convert_to_tensor(x)
    wide = tf.cast(x, dtypes.result_type(x.dtype, "float32"))
    found = tf.math.reduce_variance(wide, axis=axis, keepdims=keepdims)
    return tf.cast(found, dtypes.result_type(x.dtype, float))


@operation
def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The standard deviation."""
    x = convert_to_tensor(x)
    x = x if dtypes.is_float(x.dtype) else tf.cast(x, floatx())
    return tf.math.reduce_std(x, axis=axis, keepdims=keepdims)


@operation
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    """The root of the sum of squares. Raises NotInThisRuntime for other norms."""
    if ord not in {None, 2, "fro"}:
        raise NotInThisRuntime(f"keras.ops.norm(ord={ord!r})")
    x = convert_to_tensor(x)
    x = tf.cast(x, dtypes.result_type(x.dtype, float))
    if axis is None:
        axis = tuple(range(len(x.shape)))
        axis = axis[0] if len(axis) == 1 else axis
    return tf.sqrt(tf.reduce_sum(x * tf.math.conj(x), axis=axis, keepdims=keepdims))


@operation
def sort(x: Any, axis: int = -1) -> Any:
    """In rising order."""
    return tf.sort(convert_to_tensor(x), axis=axis)


@operation
def argsort(x: Any, axis: int = -1) -> Any:
    """Where the elements are in rising order."""
    return tf.argsort(convert_to_tensor(x), axis=axis)


@operation
def top_k(x: Any, k: int, sorted: bool = True) -> Any:  # noqa: A002
    """The largest elements and where they are."""
    return tf.math.top_k(x, k, sorted=sorted)


@operation
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Two dimensions in each other's place."""
    x = convert_to_tensor(x)
    order = list(range(len(x.shape)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return x if order == sorted(order) else tf.transpose(x, order)


@operation
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Some dimensions elsewhere."""
    x = convert_to_tensor(x)
    rank = len(x.shape)
    origins, targets = (
        [each % rank for each in (axes if isinstance(axes, (list, tuple)) else [axes])]
        for axes in (source, destination)
    )
    if origins == targets:
        return x
    order = [axis for axis in range(rank) if axis not in origins]
    for target, origin in sorted(zip(targets, origins, strict=True)):
        order.insert(target, origin)
    return tf.transpose(x, order)


@operation
def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """The elements moved along, those at the end to the start."""
    x = convert_to_tensor(x)
    if axis is not None:
        return tf.roll(x, shift=shift, axis=axis)
    shape = tf.shape(x)
    return tf.reshape(tf.roll(tf.reshape(x, [-1]), shift, 0), shape)


@operation
def outer(x1: Any, x2: Any) -> Any:
    """All products."""
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    dtype = dtypes.result_type(x1.dtype, x2.dtype)
    x1, x2 = tf.cast(x1, dtype), tf.cast(x2, dtype)
    return tf.reshape(x1, [-1, 1]) * tf.reshape(x2, [-1])


@operation
def tril(x: Any, k: int = 0) -> Any:
    """The lower triangle. Raises NotInThisRuntime for one that begins below the diagonal."""
    if k < 0:
        raise NotInThisRuntime(f"keras.ops.tril(k={k})")
    return tf.linalg.band_part(convert_to_tensor(x), -1, k)


@operation
def triu(x: Any, k: int = 0) -> Any:
    """The upper triangle. Raises NotInThisRuntime for one that begins above the diagonal."""
    if k > 0:
        raise NotInThisRuntime(f"keras.ops.triu(k={k})")
    return tf.linalg.band_part(convert_to_tensor(x), -k, -1)


@operation
def isnan(x: Any) -> Any:
    """Is it no number?"""
    x = convert_to_tensor(x)
    return tf.math.is_nan(x) if dtypes.is_float(x.dtype) else tf.zeros(x.shape, tf.bool)


@operation
def slice(inputs: Any, start_indices: Any, shape: Any) -> Any:  # noqa: A001  as in Keras
    """A part of that shape."""
    return tf.slice(inputs, start_indices, shape)


@operation
def unstack(x: Any, num: int | None = None, axis: int = 0) -> Any:
    """The parts along a dimension."""
    return tf.unstack(x, num=num, axis=axis)


# Made of nothing


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    """Numbers at equal distances."""
    given = [each for each in (start, stop, step) if each is not None]
    if dtype is None:
        dtype = dtypes.result_type(*(getattr(each, "dtype", type(each)) for each in given))
    delta = 1 if step is None else step
    return tf.range(start, stop, delta=delta, dtype=dtypes.standardize(dtype))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One value everywhere."""
    return tf.broadcast_to(convert_to_tensor(fill_value, dtype or floatx()), shape)


@operation
def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One value in the shape of `x`."""
    x = convert_to_tensor(x)
    return tf.broadcast_to(convert_to_tensor(fill_value, dtype or x.dtype), tf.shape(x))


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:  # noqa: N803
    """Ones on the diagonal. Raises NotInThisRuntime for another diagonal."""
    if k:
        raise NotInThisRuntime(f"keras.ops.eye(k={k})")
    return tf.eye(N, N if M is None else M, dtype=dtype or floatx())


# Loops


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any,
    maximum_iterations: Any = None,
) -> Any:  # fmt: skip
    """The variables after the loop; also of one variable that is in no tuple."""
    several = isinstance(loop_vars, (tuple, list))

    def wrapped(*values: Any) -> Any:
        return tuple(body(*values)) if several else (body(*values),)

    found: Any = tf.while_loop(
        cond,
        wrapped,
        tuple(loop_vars) if several else (loop_vars,),
        maximum_iterations=maximum_iterations,
    )
    return found if several else found[0]


def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Any) -> Any:
    """The value after `body_fun(i, value)` for each number."""
    return tf.while_loop(
        lambda i, _: i < upper, lambda i, value: (i + 1, body_fun(i, value)), (lower, init_val)
    )[1]
