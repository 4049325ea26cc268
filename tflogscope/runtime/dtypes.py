"""Element types of tensors: `tf.float32` and its kin.

Told about: `tensorflow/python/framework/dtypes.py` and the enum `DataType` of `types.proto`.

NB: NumPy has no bfloat16. A bfloat16 tensor is held as a float32 array whose values were rounded to
what bfloat16 can hold (`round_to_bfloat16`), after each op; TensorFlow holds 16 bits. Strings are
object arrays of `bytes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DType", "as_dtype", "of_array", "round_to_bfloat16"]


class DType:
    """One element type. There is one object per type: compare with `==` or `is`."""

    __slots__ = ("as_datatype_enum", "as_numpy_dtype", "name")

    def __init__(self, name: str, enum: int, numpy: type[Any]) -> None:
        self.name = name
        self.as_datatype_enum = enum
        self.as_numpy_dtype = numpy

    @property
    def is_floating(self) -> bool:
        """half, bfloat16, float32 or float64?"""
        return self.as_datatype_enum in {1, 2, 14, 19}

    @property
    def is_complex(self) -> bool:
        """complex64 or complex128?"""
        return self.as_datatype_enum in {8, 18}

    @property
    def is_integer(self) -> bool:
        """A signed or unsigned integer (not a quantised one)?"""
        return self.as_datatype_enum in {3, 4, 5, 6, 9, 17, 22, 23}

    @property
    def is_unsigned(self) -> bool:
        """An unsigned integer?"""
        return self.as_datatype_enum in {4, 17, 22, 23}

    @property
    def is_bool(self) -> bool:
        """Is it tf.bool?"""
        return self.as_datatype_enum == 10

    @property
    def is_numeric(self) -> bool:
        """A number or a bool: what may be copied into a graph as a constant."""
        return self.as_datatype_enum not in {7, 20, 21}

    @property
    def is_array(self) -> bool:
        """Is a tensor of it held as an array (resources and variants are any Python object)?"""
        return self.as_datatype_enum not in {20, 21}

    @property
    def base_dtype(self) -> DType:
        """Itself: TF1's reference types are not part of this runtime."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The type of the real part."""
        return {8: float32, 18: float64}.get(self.as_datatype_enum, self)

    @property
    def size(self) -> int:
        """Bytes per element, as TensorFlow holds it (1 where that has no meaning)."""
        if self.as_datatype_enum in {7, 20, 21}:
            return 1
        return 2 if self is bfloat16 else int(np.dtype(self.as_numpy_dtype).itemsize)

    @property
    def min(self) -> Any:
        """The smallest value it can hold. Raises TypeError for types without order."""
        return self._limit("min")

    @property
    def max(self) -> Any:
        """The largest value it can hold. Raises TypeError for types without order."""
        return self._limit("max")

    @property
    def limits(self) -> tuple[Any, Any]:
        """What it is scaled to where it stands for brightness: 0 to 1 or to the largest value."""
        return 0, self.max if self.is_integer or self.is_bool else 1

    def _limit(self, which: str) -> Any:
        if self is bfloat16:
            return np.float32(-3.3895314e38 if which == "min" else 3.3895314e38)
        if self.is_floating:
            return getattr(np.finfo(self.as_numpy_dtype), which)
        if self.is_integer:
            return getattr(np.iinfo(self.as_numpy_dtype), which)
        if self.is_bool:
            return which == "max"
        raise TypeError(f"Cannot find {which}imum value of {self}.")

    def is_compatible_with(self, other: object) -> bool:
        """The same type?"""
        return self is as_dtype(other)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self.as_datatype_enum

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        return f"tf.{self.name}"


DType.__module__ = "tensorflow.python.framework.dtypes"  # as types are printed

DType.__module__ = "tensorflow.python.framework.dtypes"  # as types are printed

float32 = DType("float32", 1, np.float32)
float64 = DType("float64", 2, np.float64)
int32 = DType("int32", 3, np.int32)
uint8 = DType("uint8", 4, np.uint8)
int16 = DType("int16", 5, np.int16)
int8 = DType("int8", 6, np.int8)
string = DType("string", 7, object)
complex64 = DType("complex64", 8, np.complex64)
int64 = DType("int64", 9, np.int64)
bool_ = DType("bool", 10, np.bool_)
bfloat16 = DType("bfloat16", 14, np.float32)
uint16 = DType("uint16", 17, np.uint16)
complex128 = DType("complex128", 18, np.complex128)
float16 = DType("float16", 19, np.float16)
resource = DType("resource", 20, object)
variant = DType("variant", 21, object)
uint32 = DType("uint32", 22, np.uint32)
uint64 = DType("uint64", 23, np.uint64)

ALL = (
    float32, float64, int32, uint8, int16, int8, string, complex64, int64, bool_, bfloat16, uint16,
    complex128, float16, resource, variant, uint32, uint64,
)  # fmt: skip
_BY_NAME = {dtype.name: dtype for dtype in ALL} | {
    "half": float16,
    "float": float32,
    "double": float64,
}
_BY_ENUM = {dtype.as_datatype_enum: dtype for dtype in ALL}
_BY_NUMPY = {
    np.dtype(dtype.as_numpy_dtype): dtype
    for dtype in ALL
    if dtype
    not in (bfloat16, string, resource, variant)  # these three share an array type with others
}
_BY_PYTHON: dict[object, DType] = {
    float: float32,
    int: int64,
    bool: bool_,
    str: string,
    bytes: string,
    object: string,
}


def as_dtype(value: object) -> DType:
    """The DType for a DType, a name (`"float32"`), an enum number, a NumPy type or a Python type.

    Raises TypeError where there is none. Told about: `dtypes.as_dtype`.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    if isinstance(value, type) and value in _BY_PYTHON:
        return _BY_PYTHON[value]
    if isinstance(value, int) and value in _BY_ENUM:
        return _BY_ENUM[value]
    try:
        return of_array(np.dtype(value))  # type: ignore[call-overload]
    except TypeError:
        raise TypeError(
            f"Cannot convert the argument `type_value`: {value!r} to a TensorFlow DType."
        ) from None


def of_array(numpy: np.dtype[Any]) -> DType:
    """The DType of arrays of that NumPy type. Raises TypeError where there is none."""
    if numpy.kind in "SUO":
        return string
    if numpy not in _BY_NUMPY:
        raise TypeError(f"Cannot convert {numpy!r} to a TensorFlow DType.")
    return _BY_NUMPY[numpy]


def round_to_bfloat16(array: NDArray[Any]) -> NDArray[np.float32]:
    """The nearest values that bfloat16 can hold (ties to even), as float32. Any shape."""
    single = np.ascontiguousarray(array, dtype=np.float32)
    bits = single.view(np.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1)).astype(np.uint32)) & np.uint32(0xFFFF0000)
    result = rounded.view(np.float32)
    result = np.where(np.isnan(single), np.float32(np.nan), result)
    return result.reshape(np.shape(array))
