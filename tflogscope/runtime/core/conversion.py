"""Python and NumPy values become tensors: eagerly at once, in graphs as `Const` nodes.

See `tensorflow/python/framework/constant_op.py`, `tensor_conversion_registry.py` and
`python/eager/pywrap_tensor.cc`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tflogscope.runtime.core import context, dtypes, nest, telling
from tflogscope.runtime.core.context import execute, executing_eagerly
from tflogscope.runtime.core.dtypes import DType, as_dtype, int32, string
from tflogscope.runtime.core.shapes import TensorShape, as_shape
from tflogscope.runtime.core.tensors import EagerTensor, Tensor

_conversions: list[tuple[Any, Callable[..., Any]]] = []
_scalars: dict[Any, EagerTensor] = {}
_AT_ONCE = frozenset("bool float16 float32 float64 int32 int64 string uint64".split())
"""Python values become tensors of these dtypes in one step, of others by an op Cast
(`PySeqToTFE_TensorHandle`).
"""


def register_conversion(types: Any, convert: Callable[..., Any]) -> None:
    """Say how values of these types become tensors: `convert(value, dtype or None, name or None)`."""
    _conversions.append((types, convert))


def to_array(value: Any, dtype: DType | None) -> tuple[Any, DType]:
    """The value as an array, and its dtype. Raises TypeError if it can't have that dtype,
    ValueError for ragged lists.
    """
    if value is None:
        raise ValueError("Attempt to convert a value (None) with an unsupported type to a Tensor.")
    typed = hasattr(value, "dtype")
    array = np.asarray(value) if not isinstance(value, (str, bytes)) else np.array(value, object)
    if array.dtype.kind in "SUO" or dtype is string:
        result = np.empty(array.shape, object)
        flat = [each.encode() if isinstance(each, str) else each for each in array.ravel()]
        if any(not isinstance(each, bytes) for each in flat):
            raise ValueError(f"Attempt to convert a value with an unsupported type: {flat}")
        result.ravel()[:] = flat
        array, found = result, string
    elif dtype is None:
        narrow = {"f": np.float32, "i": np.int32}.get(array.dtype.kind) if not typed else None
        array = array if narrow is None else array.astype(narrow)
        return array, dtypes.of_array(array.dtype)
    else:
        found = dtype
    wanted, kind = np.dtype(found.as_numpy_dtype), array.dtype.kind
    truncated = kind == "f" and wanted.kind in "iu"
    boolean = (kind == "b") != (wanted.kind == "b") and not typed
    if dtype not in {None, found} or (array.size and (truncated or boolean)):
        raise TypeError(f"Cannot convert {value} to EagerTensor of dtype {dtype and dtype.name}")
    array = array.astype(wanted)
    return dtypes.round_to_bfloat16(array) if found is dtypes.bfloat16 else array, found


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = "Const") -> Any:
    """A tensor of that value; a scalar fills the shape. Raises what `to_array` does."""
    wanted = None if dtype is None else as_dtype(dtype)
    if executing_eagerly():
        tensor = _eager_tensor(value, wanted)
        if shape is None or tensor.shape == as_shape(shape):
            return tensor
        dims = _eager_tensor(np.array(as_shape(shape).sizes(), np.int32), int32)
        if tensor.shape.num_elements() == 1:
            return execute("Fill", [dims, tensor], {"index_type": int32})[0]
        return execute("Reshape", [tensor, dims], {"Tshape": int32})[0]
    if isinstance(value, EagerTensor):
        value, wanted = value.value, wanted or value.dtype
    array, found = to_array(value, wanted)
    if shape is not None:
        sizes = as_shape(shape).sizes()
        full = array.size == 1 and np.prod(sizes) != 1
        array = np.full(sizes, array.ravel()[0], array.dtype) if full else array.reshape(sizes)
    return execute("Const", [], {"value": array, "dtype": found}, name or "Const")[0]


def convert_to_tensor(
    value: Any, dtype: Any = None, name: str | None = None, *, dtype_hint: Any = None
) -> Any:
    """`value` as a tensor; one from outside the function being traced as captured.

    Raises ValueError if a tensor has another dtype than `dtype`, TypeError if the value can't have
    it. `dtype_hint` is tried first and dropped if it does not fit.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Tensor):
        if wanted is not None and value.dtype is not wanted:
            raise ValueError(f"Tensor conversion requested dtype {wanted.name} for {value!r}")
        captured = isinstance(value, EagerTensor) and not executing_eagerly()
        return context.current().capture(value, name) if captured else value
    if wanted is None and dtype_hint is not None:
        with suppress(TypeError, ValueError):
            return convert_to_tensor(value, dtype_hint, name)
    for types, convert in _conversions:
        if isinstance(value, types):
            return convert(value, wanted, name)
    if isinstance(value, TensorShape):
        return constant(value.sizes(), wanted or int32, name=name or "shape_as_tensor")
    if isinstance(value, (list, tuple)) and _holds_tensor(value):
        found = next(each.dtype for each in nest.flatten(value) if _tensor_like(each))
        return _packed(value, wanted or as_dtype(found), name)
    return constant(value, wanted, name=name or "Const")


def _eager_tensor(value: Any, dtype: DType | None) -> EagerTensor:
    if isinstance(value, EagerTensor):
        return value
    if type(value) in {int, float, bool}:  # a Python number is converted once and then remembered
        key = (type(value), value, dtype, str(value))  # str: -0.0 is not 0.0
        if key not in _scalars:
            _scalars[key] = _new_tensor(value, dtype)
        return EagerTensor(_scalars[key].value, _scalars[key].dtype)
    return _new_tensor(value, dtype)


def _new_tensor(value: Any, dtype: DType | None) -> EagerTensor:
    array, found = to_array(value, dtype)
    tensor = EagerTensor(array.copy() if array is value else array, found)
    if not context.requested_device():
        cast = found.name not in _AT_ONCE and isinstance(value, (int, float, list, tuple))
        telling.listener.constant_made(tensor, cast=cast)
    return tensor


def forget_scalars() -> None:
    _scalars.clear()


def _tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or any(isinstance(value, each) for each, _ in _conversions)


def _holds_tensor(values: Sequence[Any]) -> bool:
    return any(_tensor_like(each) for each in nest.flatten(values))


def _packed(values: Sequence[Any], dtype: DType, name: str | None) -> Any:
    """`[x, [1, y]]` as a tensor: nested `Pack` ops. Raises TypeError if dtypes differ."""
    if executing_eagerly() and all(isinstance(value, Tensor) for value in values):
        return _pack(list(values), name)
    with context.name_scope(name or "packed") as scope:
        elements = []
        for index, value in enumerate(values):
            if isinstance(value, (list, tuple)) and _holds_tensor(value):
                elements.append(_packed(value, dtype, str(index)))
            elif _tensor_like(value):
                elements.append(convert_to_tensor(value))
            else:
                elements.append(constant(value, dtype, name=str(index)))
            if elements[-1].dtype is not dtype:
                raise TypeError(f"Cannot convert a list with {value!r} to {dtype}")
        return _pack(elements, scope)


def _pack(elements: list[Any], name: str | None) -> Any:
    attributes = {"N": len(elements), "axis": 0, "T": elements[0].dtype}
    return execute("Pack", elements, attributes, name)[0]
