"""How tensors print: `tf.Tensor([1. 0.], shape=(2,), dtype=float32)`.

Told about: `numpy_text` and `value_text` in `tensorflow/python/framework/ops.py`,
`tensor_shape.py`. NB: NumPy 2 writes scalars as `np.float32(5.5)` and TensorFlow 2.13 has NumPy 1:
scalars are written its way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tflogscope.runtime.tensors import EagerTensor

__all__ = ["named_value", "text"]


def text(tensor: EagerTensor) -> str:
    """The value as `print` shows it."""
    if not tensor.dtype.is_array:
        return "<unprintable>"
    return _own_line(_array_text(tensor.value, tensor.dtype.name))


def named_value(tensor: EagerTensor) -> str:
    """The value as `repr` shows it: `numpy=array([1., 0.], dtype=float32)`."""
    if not tensor.dtype.is_array:
        return f"value={tensor.value!r}"
    value: NDArray[Any] = tensor.value
    if value.ndim == 0:
        shown = _scalar_text(value, tensor.dtype.name)
    elif tensor.dtype.name == "bfloat16":
        numbers = np.array2string(value, separator=", ", prefix="array(", formatter=_SHORT)
        shown = f"array({numbers}, dtype=bfloat16)"
    else:
        shown = repr(value)
    return f"numpy={_own_line(shown)}"


_SHORT: Any = {"float_kind": lambda number: f"{number:.6g}"}


def _array_text(value: NDArray[Any], dtype: str) -> str:
    if value.ndim == 0:
        return _scalar_text(value, dtype)
    return np.array2string(value, formatter=_SHORT) if dtype == "bfloat16" else str(value)


def _scalar_text(value: NDArray[Any], dtype: str) -> str:
    item: Any = value[()]
    if dtype == "bfloat16":
        return f"{item:.6g}"
    return repr(item) if isinstance(item, bytes) else str(item)


def _own_line(shown: str) -> str:
    return "\n" + shown if "\n" in shown else shown
