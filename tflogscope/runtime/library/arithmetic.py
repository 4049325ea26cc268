"""Arithmetic of two tensors: `tf.add`, `tf.divide`, `tf.pow` and others.

Told about: `python/ops/math_ops.py`, `python/ops/clip_ops.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.indexed_slices import IndexedSlices, values_of, with_values
from tflogscope.runtime.library.elementary import cast
from tflogscope.runtime.ops.call import call, generated
from tflogscope.runtime.tensors import Tensor

__all__ = [
    "accumulate_n",
    "add",
    "add_n",
    "atan2",
    "clip_by_value",
    "div_no_nan",
    "divide",
    "floordiv",
    "floormod",
    "maximum",
    "minimum",
    "multiply",
    "multiply_no_nan",
    "nextafter",
    "polyval",
    "pow",
    "realdiv",
    "scalar_mul",
    "squared_difference",
    "subtract",
    "truediv",
    "truncatediv",
    "truncatemod",
    "xdivy",
    "xlog1py",
    "xlogy",
]

atan2 = generated("Atan2")
floormod = generated("FloorMod")
maximum = generated("Maximum")
minimum = generated("Minimum")
multiply = generated("Mul", name="multiply")
realdiv = generated("RealDiv")
squared_difference = generated("SquaredDifference")
subtract = generated("Sub", name="subtract")
truncatediv = generated("TruncateDiv")
truncatemod = generated("TruncateMod")
nextafter = generated("NextAfter")
xlogy = generated("Xlogy")


def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """X + y, with broadcasting; strings are joined."""
    with op_scope(name, "Add") as name:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype_hint=x.dtype)
        return call("Add" if x.dtype is dtypes.string else "AddV2", x, y, name=name)


def _quotient_types(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Both as floating-point numbers, as Python's `/` has it. Raises TypeError for two dtypes."""
    if x.dtype is not y.dtype:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}.")
    if not (x.dtype.is_integer or x.dtype.is_floating or x.dtype.is_complex):
        raise TypeError(f"Invalid dtype {x.dtype!r} in __truediv__.")
    if x.dtype.is_integer:
        target = dtypes.float32 if x.dtype.size <= 2 else dtypes.float64
        return cast(x, target), cast(y, target)
    return x, y


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """X / y; integers are cast to float64 (8 and 16 bits: float32). Raises TypeError for two
    dtypes.
    """
    with op_scope(name, "truediv") as name:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype_hint=x.dtype)
        return call("RealDiv", *_quotient_types(x, y), name=name)


def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """X / y, as Python's operator does it."""
    if name is not None:
        return truediv(x, y, name)
    if not isinstance(x, Tensor):
        x = convert_to_tensor(x, y.dtype if isinstance(y, Tensor) else None)
    return x / y


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """X / y, and 0 where y is 0."""
    with op_scope(name, "div_no_nan") as name:
        if isinstance(y, Tensor) and not isinstance(x, Tensor):
            x = convert_to_tensor(x, y.dtype, name="x")
        else:
            x = convert_to_tensor(x, name="x")
            y = convert_to_tensor(y, name="y", dtype_hint=x.dtype)
        return call("DivNoNan", *_quotient_types(x, y), name=name)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """X // y, rounded down."""
    with op_scope(name, "floordiv") as name:
        return call("FloorDiv", x, y, name=name)


def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """X to the power of y."""
    with op_scope(name, "Pow") as name:
        return call("Pow", x, y, name=name)


def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """X * y, and 0 where y is 0 even if x is not a number."""
    with op_scope(name, "multiply_no_nan") as name:
        x = convert_to_tensor(x, name="x")
        return call("MulNoNan", x, convert_to_tensor(y, x.dtype, name="y"), name=name)


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Tensor:
    """A single number times a tensor. Raises ValueError if `scalar` has a shape."""
    with op_scope(name, "scalar_mul") as name:
        scalar = convert_to_tensor(scalar, x.dtype, name="scalar")
        if scalar.shape.rank != 0:
            raise ValueError(
                f"The input scalar must be a 0-D value. Received shape {scalar.shape}."
            )
        return call("Mul", scalar, x, name=name)


def xdivy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """X / y, and 0 where x is 0."""
    with op_scope(name, "xdivy"):
        return call("Xdivy", x, y)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of all. Raises ValueError for an empty list."""
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError(
            "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype "
            "and shape."
        )
    first = next(
        (each.dtype for each in inputs if isinstance(getattr(each, "dtype", None), DType)), None
    )
    # slices become tensors within the op's own name scope
    tensors = [
        each if isinstance(each, (Tensor, IndexedSlices)) else convert_to_tensor(each, first)
        for each in inputs
    ]
    if len(tensors) > 1:
        return call("AddN", tensors, name=name)
    (only,) = map(convert_to_tensor, tensors)
    return call("Identity", only, name=name) if name else only


def xlog1py(x: Any, y: Any, name: str | None = None) -> Tensor:
    """X * log(1 + y), and 0 where x is 0."""
    with op_scope(name, "xlog1py"):
        return call("Xlog1py", x, y)


def polyval(coeffs: Sequence[Any], x: Any, name: str | None = None) -> Any:
    """The polynomial with these coefficients, the highest power first, by Horner's rule."""
    with op_scope(name, "polyval"):
        x = convert_to_tensor(x, name="x")
        if not coeffs:
            return call("ZerosLike", x)
        terms = [convert_to_tensor(each, name=f"{k}_coeff") for k, each in enumerate(coeffs)]
        result: Any = terms[0]
        for term in terms[1:]:
            result = term + result * x
        return result


def accumulate_n(
    inputs: Sequence[Any], shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Tensor:
    """The sum of all, element by element."""
    del shape, tensor_dtype  # only checked by TensorFlow
    return add_n(inputs, name)


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """`t` with its elements kept between the two values."""
    with op_scope(name, "clip_by_value") as name:
        values = convert_to_tensor(values_of(t), name="t")
        smaller = call("Minimum", values, clip_value_max)
        values.shape.assert_is_compatible_with(smaller.shape)
        larger: Tensor = call("Maximum", smaller, clip_value_min, name=name)
        values.shape.assert_is_compatible_with(larger.shape)
        return with_values(t, larger)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Cast to `dtype`; what it can't hold becomes its smallest or largest value."""
    target = dtypes.as_dtype(dtype)
    with op_scope(name, "saturate_cast") as name:
        value = convert_to_tensor(value, name="value")
        source = value.dtype
        if source.min < target.min or source.max > target.max:
            low, high = (
                _representable(limit, target, source) for limit in (target.min, target.max)
            )
            limits = convert_to_tensor(low, source), convert_to_tensor(high, source)
            value = call("ClipByValue", value, *limits, name="clamp")
        return cast(value, target, name=name)


def _representable(limit: Any, target: DType, source: DType) -> Any:
    """The limit in the type of the source, not outside of the target's range."""
    value = source.as_numpy_dtype(limit)
    outside = value < target.min or value > target.max
    return np.nextafter(limit, 0, dtype=source.as_numpy_dtype) if outside else value
