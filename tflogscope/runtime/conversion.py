"""From Python and NumPy values to tensors: `tf.constant` and `tf.convert_to_tensor`.

Eagerly a value becomes an EagerTensor without any op (the log shows `_EagerConst`); in a graph it
becomes a `Const` node. A list that holds tensors becomes a `Pack` of them.

Told about: `framework/constant_op.py`, `tensor_conversion_registry.py`, `ConvertToEagerTensor` of
`python/eager/pywrap_tensor.cc`, `_autopacking_helper` of `ops/array_ops.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import nest, telling
from tflogscope.runtime.context import (
    current,
    execute,
    executing_eagerly,
    name_scope,
    requested_device,
)
from tflogscope.runtime.devices import CPU
from tflogscope.runtime.dtypes import DType, as_dtype, int32
from tflogscope.runtime.shapes import TensorShape, as_shape
from tflogscope.runtime.tensors import EagerTensor, SymbolicTensor, Tensor
from tflogscope.runtime.values import to_array

__all__ = ["constant", "convert_many", "convert_to_tensor", "register_conversion"]

Conversion = Callable[[Any, DType | None, str | None], Any]

_conversions: list[tuple[type | tuple[type, ...], Conversion]] = []
_scalars: dict[Any, EagerTensor] = {}


def register_conversion(types: type | tuple[type, ...], convert: Conversion) -> None:
    """Say how values of these types become tensors: `convert(value, dtype or None, name or None)`.

    It may return NotImplemented, to leave the value to others. Told about:
    `tf.register_tensor_conversion_function`.
    """
    _conversions.append((types, convert))


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str | None = "Const"
) -> Tensor:
    """A tensor of that value; `dtype` and `shape` of the value unless given; a scalar fills the
    shape.

    Raises TypeError if the value can't have that dtype or shape, ValueError for ragged lists.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if executing_eagerly():
        return _eager_constant(value, wanted, None if shape is None else as_shape(shape))
    if isinstance(value, EagerTensor):
        value, wanted = value.value, wanted or value.dtype
    elif isinstance(value, Tensor):
        raise TypeError(f"Expected any non-tensor type, but got a tensor instead: {value!r}")
    if value is None:  # `make_tensor_proto`
        raise ValueError("None values not supported.")
    try:
        array, found = to_array(value, wanted)
    except TypeError:
        if wanted is None:
            raise
        odd = next(each for each in nest.flatten(value) if not _converts(each, wanted))
        raise TypeError(
            f"Expected {wanted.name}, but got {odd} of type '{type(odd).__name__}'."
        ) from None
    if shape is not None:
        array = _filled(array, as_shape(shape).as_tuple())
    return execute("Const", [], {"value": array, "dtype": found}, name or "Const")[0]


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Any:
    """`value` as a tensor; a tensor as it is, and one from outside the function being traced as
    captured.

    Raises ValueError if a tensor has another dtype than `dtype`, TypeError if the value can't have
    it. With `preferred_dtype` (`dtype_hint`) that dtype is tried first and dropped if it does not
    fit.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Tensor):
        return _tensor(value, wanted, name)
    hint = preferred_dtype or dtype_hint
    if wanted is None and hint is not None:
        try:
            return _converted(value, as_dtype(hint), name)
        except (TypeError, ValueError):
            pass
    return _converted(value, wanted, name)


def convert_many(values: Sequence[Any], dtype: Any = None, name: str | None = None) -> list[Any]:
    """Each as a tensor, named `name_0`, `name_1`, …; in graphs all have the dtype of the first
    tensor among them.
    """
    if dtype is None:
        dtype = next(
            (value.dtype for value in values if isinstance(getattr(value, "dtype", None), DType)),
            None,
        )
    return [
        convert_to_tensor(value, dtype, None if name is None else f"{name}_{index}")
        for index, value in enumerate(values)
    ]


def _tensor(value: Tensor, dtype: DType | None, name: str | None) -> Tensor:
    if dtype is not None and value.dtype is not dtype:
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
            f"{value.dtype.name}: {value!r}"
        )
    if isinstance(value, EagerTensor) and not executing_eagerly():
        return current().capture(value, name)  # type: ignore[attr-defined, no-any-return]
    return value


def _converted(value: Any, dtype: DType | None, name: str | None) -> Any:
    for types, convert in _conversions:
        if isinstance(value, types):
            result = convert(value, dtype, name)
            if result is not NotImplemented:
                return result
    if isinstance(value, TensorShape):
        return _shape_tensor(value, dtype, name)
    if isinstance(value, (list, tuple)) and _holds_tensor(value):
        found = _dtype_within(value)
        if dtype is not None and found is not dtype:
            value = _all_cast(value, dtype)
        return _packed(value, dtype or found, name)
    return constant(value, dtype, name=name or "Const")


def _eager_constant(value: Any, dtype: DType | None, shape: TensorShape | None) -> Tensor:
    tensor = _eager_tensor(value, dtype)
    if shape is None or shape == tensor.shape:
        return tensor
    dims = _eager_tensor(np.array(shape.as_tuple(), np.int32), int32)
    if tensor.shape.num_elements() == shape.num_elements():
        return execute("Reshape", [tensor, dims], {"Tshape": int32})[0]
    if tensor.shape.num_elements() == 1:
        return execute("Fill", [dims, tensor], {"index_type": int32})[0]
    raise TypeError(
        f"Eager execution of tf.constant with unsupported shape. Tensor {tensor} (converted from "
        f"{value}) has {tensor.shape.num_elements()} elements, but got `shape` {shape} with "
        f"{shape.num_elements()} elements)."
    )


def _eager_tensor(value: Any, dtype: DType | None) -> EagerTensor:
    if isinstance(value, EagerTensor):
        if dtype is not None and value.dtype is not dtype:
            raise TypeError(
                f"Expected tensor {value} with dtype {dtype!r}, but got dtype {value.dtype!r}."
            )
        return value
    if isinstance(value, SymbolicTensor):
        raise TypeError(f"Cannot convert {value!r} to an EagerTensor: it has no value yet.")
    if type(value) in (int, float, bool):  # a Python number is converted once and then remembered
        key = (type(value), value, dtype, str(value))  # str: -0.0 is not 0.0
        known = _scalars.get(key)
        if known is not None:
            return EagerTensor(known.value, known.dtype, known.device)
        _scalars[key] = _new_eager_tensor(value, dtype)
        return _scalars[key]
    return _new_eager_tensor(value, dtype)


_CONVERTED_AT_ONCE = frozenset(
    {"bool", "complex128", "float16", "float32", "float64", "int32", "int64", "string", "uint64"}
)
"""Python values become tensors of these dtypes in one step, of others by an op Cast.

Told about: `PySeqToTFE_TensorHandle`.
"""


def _new_eager_tensor(value: Any, dtype: DType | None) -> EagerTensor:
    array, found = to_array(value, dtype)
    tensor = EagerTensor(array.copy() if array is value else array, found, CPU)
    # Within `tf.device` the value is put there without the op that else copies it.
    if telling.listener is not None and not requested_device():
        cast = found.name not in _CONVERTED_AT_ONCE and _is_number(value)
        telling.listener.constant_made(tensor, cast=cast)
    return tensor


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex) or (
        isinstance(value, list | tuple) and all(map(_is_number, value))
    )


def _filled(array: Any, shape: tuple[int, ...]) -> Any:
    if array.size == int(np.prod(shape)):
        return array.reshape(shape)
    if array.size == 1:
        return np.full(shape, array.reshape(())[()], array.dtype)
    raise TypeError(f"Expected Tensor's shape: {shape}, but got {array.shape}.")


def _converts(value: Any, dtype: DType) -> bool:
    try:
        to_array(value, dtype)
    except TypeError:
        return False
    return True


def _shape_tensor(shape: TensorShape, dtype: DType | None, name: str | None) -> Tensor:
    if not shape.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape {shape} to a Tensor.")
    return constant(shape.as_list(), dtype or int32, name=name or "shape_as_tensor")


def _holds_tensor(values: Iterable[Any]) -> bool:
    return any(
        _holds_tensor(value) if isinstance(value, (list, tuple)) else _tensor_like(value)
        for value in values
    )


def _tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or any(isinstance(value, types) for types, _ in _conversions)


def _dtype_within(values: Iterable[Any]) -> DType | None:
    """The dtype of the first tensor in nested lists."""
    for value in values:
        found = _dtype_within(value) if isinstance(value, (list, tuple)) else None
        if _tensor_like(value):
            found = value.dtype
        if found is not None:
            return found
    return None


def _all_cast(values: Sequence[Any], dtype: DType) -> list[Any]:
    """The tensors in nested lists in that dtype. Told about: `_cast_nested_seqs_to_dtype`."""

    def cast(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return _all_cast(value, dtype)
        if not isinstance(value, Tensor) or value.dtype is dtype:
            return value
        attributes = {"SrcT": value.dtype, "Truncate": False, "DstT": dtype}
        return execute("Cast", [value], attributes)[0]

    return [cast(value) for value in values]


def _packed(values: Sequence[Any], dtype: DType | None, name: str | None) -> Tensor:
    """`[x, [1, y]]` as a tensor: nested `Pack` ops. Raises TypeError if dtypes differ."""
    if executing_eagerly() and all(isinstance(value, Tensor) for value in values):
        return _pack(list(values), name)
    with name_scope(name or "packed") as scope:
        elements = []
        for index, value in enumerate(values):
            if isinstance(value, (list, tuple)) and _holds_tensor(value):
                elements.append(_packed(value, dtype, str(index)))
            elif _tensor_like(value):
                element = convert_to_tensor(value)
                if dtype is not None and element.dtype is not dtype:
                    raise TypeError(
                        f"Cannot convert a list containing a tensor of dtype {element.dtype} to "
                        f"{dtype} (Tensor is: {element!r})"
                    )
                elements.append(element)
            else:
                elements.append(constant(value, dtype, name=str(index)))
        return _pack(elements, scope)


def _pack(elements: list[Any], name: str | None) -> Tensor:
    return execute("Pack", elements, {"N": len(elements), "axis": 0}, name)[0]
