"""Complex numbers: `tf.complex`, `tf.math.real`, `tf.math.imag`, `tf.math.angle`.

Told about: `python/ops/math_ops.py`.
"""

from __future__ import annotations

import math
from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.comparison import where_v1
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.tensors import Tensor

__all__ = ["angle", "complex", "imag", "real"]

_OF_PARTS = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """`real + imag i`. Raises TypeError unless both are float32 or both float64."""
    real = convert_to_tensor(real, name="real")
    imag = convert_to_tensor(imag, name="imag")
    with op_scope(name, "Complex") as name:
        if real.dtype is not imag.dtype or real.dtype not in _OF_PARTS:
            raise TypeError(
                f"The `real` and `imag` components have incorrect types: {real.dtype.name} "
                f"{imag.dtype.name}. They must be consistent, and one of {[*_OF_PARTS]}"
            )
        return call("Complex", real, imag, Tout=_OF_PARTS[real.dtype], name=name)


def real(input: Any, name: str | None = None) -> Tensor:
    """The real part; a real tensor itself."""
    with op_scope(name, "Real") as name:
        x: Tensor = convert_to_tensor(input, name="input")
        if not x.dtype.is_complex:
            return x
        return call("Real", x, Tout=x.dtype.real_dtype, name=name)


def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary part; zeros for a real tensor."""
    with op_scope(name, "Imag") as name:
        x = convert_to_tensor(input, name="input")
        if not x.dtype.is_complex:
            return arrays.zeros_like(x)
        return call("Imag", x, Tout=x.dtype.real_dtype, name=name)


def angle(input: Any, name: str | None = None) -> Tensor:
    """The angle to the axis of the real numbers."""
    with op_scope(name, "Angle") as name:
        x = convert_to_tensor(input, name="input")
        if x.dtype.is_complex:
            return call("Angle", x, Tout=x.dtype.real_dtype, name=name)
        return where_v1(x < 0, math.pi * arrays.ones_like(x), arrays.zeros_like(x))
