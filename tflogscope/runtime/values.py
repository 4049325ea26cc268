"""From Python and NumPy values to arrays of a dtype: the rules by which TensorFlow infers one.

Told about: `PySeqToTFE_TensorHandle` of `python/lib/core/py_seq_tensor.cc` and `make_tensor_proto`
of `framework/tensor_util.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime import dtypes
from tflogscope.runtime.dtypes import DType, of_array
from tflogscope.runtime.node_text import short_name

__all__ = ["fits", "to_array"]


def to_array(value: Any, dtype: DType | None) -> tuple[NDArray[Any], DType]:
    """The value as an array, and its dtype: that asked for, else by TensorFlow's rules.

    Python ints become int32 (int64 if too big), floats float32, NumPy values keep their type.
    Raises TypeError where a value does not go into the dtype, ValueError for lists that are no
    rectangle.
    """
    if value is None:
        raise ValueError(
            "Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a "
            "Tensor."
        )
    array = _array(value)
    first = type(_first(value))
    if first is int and array.dtype.kind == "u" and dtype is not dtypes.uint64:
        raise ValueError("Can't convert Python sequence with out-of-range integer to Tensor.")
    found = _inferred(value, array)
    if dtype is None:
        dtype = found
        if first is bool and found is not dtypes.bool_:
            raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    elif not (
        fits(found, dtype)
        or (found is dtypes.bool_ and (dtype.is_integer or dtype.is_floating))
        or _from_python_number(value, found, dtype)
        or (isinstance(value, (np.ndarray, np.generic)) and _numbers(found, dtype))
    ):
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {short_name(dtype)}")
    return _cast(array, dtype), dtype


def fits(source: DType, target: DType) -> bool:
    """May values of dtype `source` be taken as `target` without being asked to cast?

    Told about: `IsCompatible` of `python/lib/core/py_seq_tensor.cc`.
    """
    if source is target:
        return True
    if target.is_integer:
        return source.is_integer
    if target.is_floating:
        return source.is_integer or source.is_floating
    return target.is_complex and (source.is_integer or source.is_floating or source.is_complex)


def _numbers(*dtypes: DType) -> bool:
    """Are they all numbers? NumPy's arrays of them are cast, whatever is lost."""
    return all(each.is_integer or each.is_floating or each.is_complex for each in dtypes)


def _array(value: Any) -> NDArray[Any]:
    """As NumPy sees it."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    if isinstance(value, (str, bytes)):
        return np.array(value, object)
    try:
        array = np.array(value)
    except UnicodeDecodeError:  # bytes beside str
        return np.array(value, object)
    except ValueError:
        raise ValueError("Can't convert non-rectangular Python sequence to Tensor.") from None
    if array.dtype.kind in "SU":
        array = np.array(value, object)
        if not _texts(array):
            raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
        return array
    if array.dtype.kind == "O" and isinstance(_first(value), int):
        raise ValueError("Can't convert Python sequence with out-of-range integer to Tensor.")
    if array.dtype.kind == "O" and not _texts(array):
        raise ValueError(
            f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a "
            "Tensor."
        )
    return array


def _texts(array: NDArray[Any]) -> bool:
    return all(isinstance(item, (str, bytes)) for item in array.ravel())


def _inferred(value: Any, array: NDArray[Any]) -> DType:
    if not isinstance(value, (np.ndarray, np.generic)) and array.dtype.kind in "if":
        if array.size and isinstance(_first(value), (np.ndarray, np.generic)):
            return of_array(array.dtype)  # a list of NumPy values keeps their type
        if array.dtype.kind == "f":
            return dtypes.float32
        small = not array.size or (array.min() >= -(2**31) and array.max() < 2**31)
        return dtypes.int32 if small else dtypes.int64
    return of_array(array.dtype)


def _first(value: Any) -> Any:
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return value


def _from_python_number(value: Any, found: DType, dtype: DType) -> bool:
    """An empty list goes into any dtype."""
    return (
        isinstance(value, (list, tuple))
        and np.size(value) == 0
        and found.is_floating
        and dtype.is_numeric
    )


def _cast(array: NDArray[Any], dtype: DType) -> NDArray[Any]:
    if dtype is dtypes.bfloat16:
        return dtypes.round_to_bfloat16(array)
    if dtype is dtypes.string:
        return _as_bytes(array)
    with np.errstate(all="ignore"):
        return array.astype(dtype.as_numpy_dtype, copy=False)  # what is too big loses its high bits


def _as_bytes(array: NDArray[Any]) -> NDArray[Any]:
    result = np.empty(array.shape, object)
    flat = [item.encode() if isinstance(item, str) else bytes(item) for item in array.ravel()]
    result.ravel()[:] = flat or result.ravel()
    return result
