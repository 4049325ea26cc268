"""Variables that are cast each time they are read in the call of a layer.

A layer of a mixed policy keeps its weights as `float32` and computes in a smaller type. So each of
its ops that reads a weight is preceded by a `Cast`, and the gradient of that is cast back.

Told about: `keras/src/mixed_precision/autocast_variable.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.variables import Variable

__all__ = ["casting_to", "create_autocast_variable"]


class _State(threading.local):
    dtype: Any = None
    """To what variables are cast now; None: they are not."""


_state = _State()


@contextmanager
def casting_to(dtype: Any) -> Iterator[None]:
    """Within, variables are read as this floating dtype; as they are, if it is no such dtype."""
    before = _state.dtype
    _state.dtype = dtype if dtype.is_floating else None
    try:
        yield
    finally:
        _state.dtype = before


class AutoCastVariable(Variable):
    """What is read of it is cast; its `dtype`, and that of what is assigned, stay."""

    plain = False

    def value(self) -> Any:
        """The value, cast if it is read in a layer's call."""
        return self._cast(super().value())

    def read_value(self) -> Any:
        """The value as a tensor of its own, cast alike."""
        return self._cast(super().read_value())

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        """Some rows, cast alike."""
        return self._cast(super().sparse_read(indices, name))

    def gather_nd(self, indices: Any, name: str | None = None) -> Any:
        """Some elements, cast alike."""
        return self._cast(super().gather_nd(indices, name))

    @property
    def value_dtype(self) -> Any:
        """That to which it is cast."""
        return _state.dtype if self._is_cast() else self.dtype

    def _operand(self) -> Any:
        return self.read_value()

    def _is_cast(self) -> bool:
        return _state.dtype is not None and _state.dtype != self.dtype

    def _cast(self, value: Any) -> Any:
        return tf.cast(value, _state.dtype) if self._is_cast() else value

    def __repr__(self) -> str:
        shown = super().__repr__().replace("<tf.Variable", "<AutoCastVariable", 1)
        dtype = f"dtype={self.dtype.name}"
        to = (_state.dtype or self.dtype).name
        return shown.replace(dtype, f"{dtype} dtype_to_cast_to={to}", 1)


def create_autocast_variable(variable: Any) -> Any:
    """The variable, from now on one that is cast."""
    kind = type(variable)
    if kind is Variable:
        variable.__class__ = AutoCastVariable
    else:  # one that a function creates has a class of its own, which stays a base
        variable.__class__ = type(AutoCastVariable.__name__, (AutoCastVariable, kind), {})
    return variable
