"""Keras tensors of Keras 3: their operators are operations of `ops`.

Told about: `keras/src/backend/common/keras_tensor.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import keras_tensor as keras2

__all__ = ["KerasTensor", "from_tensor"]


def _function(name: str) -> Callable[..., Any]:
    from tflogscope.runtime.keras3 import ops

    found: Callable[..., Any] = getattr(ops, name)
    return found


def _operators(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The operator with the Keras tensor on its left, and the one with it on its right."""

    def left(x: Any, y: Any) -> Any:
        return _function(name)(x, y)

    def right(x: Any, y: Any) -> Any:
        return _function(name)(y, x)

    return left, right


class KerasTensor(keras2.KerasTensor):
    """A tensor to be."""

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("subtract")
    __mul__, __rmul__ = _operators("multiply")
    __truediv__, __rtruediv__ = _operators("divide")
    __floordiv__, __rfloordiv__ = _operators("floor_divide")
    __mod__, __rmod__ = _operators("mod")
    __pow__, __rpow__ = _operators("power")
    __matmul__, __rmatmul__ = _operators("matmul")
    __getitem__, _ = _operators("get_item")
    __lt__, _ = _operators("less")
    __le__, _ = _operators("less_equal")
    __gt__, _ = _operators("greater")
    __ge__, _ = _operators("greater_equal")

    def __neg__(self) -> Any:
        return _function("negative")(self)

    def __abs__(self) -> Any:
        return _function("absolute")(self)

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)


def from_tensor(tensor: Any) -> Any:
    """The Keras tensor for a tensor of a scratch graph; other values as they are."""
    if not isinstance(tensor, (tf.Tensor, tf.Variable)):
        return tensor
    return KerasTensor(tensor.shape, tensor.dtype)
