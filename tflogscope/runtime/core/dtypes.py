"""Element types: `tf.float32` and its like."""

from __future__ import annotations

from typing import Any

import numpy as np


class DType:
    """An element type. There is one object for each."""

    def __init__(self, name: str, numpy: Any, size: int) -> None:
        self.name = name
        self.as_numpy_dtype = numpy
        self.size = size
        kind = np.dtype(numpy).kind
        self.is_array = name not in {"resource", "variant"}
        self.is_floating = kind == "f"
        self.is_integer = kind in "iu"
        self.is_bool = kind == "b"
        self.is_numeric = kind in "fiub"

    min = property(lambda self: _limits(self).min)
    max = property(lambda self: _limits(self).max)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        return f"tf.{self.name}"


_FLOAT = {"float16": np.float16, "float32": np.float32, "float64": np.float64}
float16, float32, float64 = (
    DType(name, kind, np.dtype(kind).itemsize) for name, kind in _FLOAT.items()
)
bfloat16 = DType("bfloat16", np.float32, 2)
"""NB: held as float32, rounded after each op, since NumPy does not have it."""
int8, int16, int32, int64, uint8, uint16, uint32, uint64 = (
    DType(f"{kind}{8 * size}", np.dtype(f"{kind[0]}{size}").type, size)
    for kind in ("int", "uint")
    for size in (1, 2, 4, 8)
)
bool_ = DType("bool", np.bool_, 1)
string = DType("string", object, 24)
resource = DType("resource", object, 88)
variant = DType("variant", object, 64)

ALL = {each.name: each for each in list(globals().values()) if isinstance(each, DType)}
_OF_NUMPY = {
    np.dtype(each.as_numpy_dtype): each
    for each in ALL.values()
    if each.as_numpy_dtype is not object
} | {np.dtype(np.float32): float32}
_OF_PYTHON: dict[Any, DType] = {float: float32, int: int32, bool: bool_, str: string}


def _limits(dtype: DType) -> Any:
    return (np.finfo if dtype.is_floating else np.iinfo)(dtype.as_numpy_dtype)


def as_dtype(value: Any) -> DType:
    if isinstance(value, DType):
        return value
    found = ALL.get(value) if isinstance(value, str) else _OF_PYTHON.get(value)
    return of_array(np.dtype(value)) if found is None else found


def of_array(dtype: Any) -> DType:
    if dtype.kind in "OSU":
        return string
    found = _OF_NUMPY.get(dtype)
    if found is None:
        raise TypeError(f"Cannot convert {dtype} to a TensorFlow DType.")
    return found


def round_to_bfloat16(value: Any) -> Any:
    bits = np.ascontiguousarray(value, np.float32).view(np.uint32)
    kept = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    rounded = kept.view(np.float32).reshape(np.shape(value))
    return np.where(np.isnan(value), np.asarray(value, np.float32), rounded)
