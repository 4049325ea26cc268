"""`tf.keras.constraints`: what becomes of a weight after each step of training.

Told about: `keras/src/constraints.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras import backend
from tflogscope.runtime.keras.configuring import Configured, deserialize, serialize

__all__ = ["Constraint", "MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm", "get", "serialize"]


class Constraint(Configured):
    """A function from a weight to a weight that keeps the rule."""

    def __call__(self, w: Any) -> Any:
        """Apply it."""
        return w


class _Norm(Constraint):
    def __init__(self, axis: int = 0) -> None:
        self.axis = axis

    def _norms(self, w: Any) -> Any:
        squares = tf.reduce_sum(tf.square(w), axis=self.axis, keepdims=True)
        return tf.sqrt(tf.maximum(squares, backend.constant_to_tensor(0.0, squares.dtype)))


class MaxNorm(_Norm):
    """Norms not above `max_value`."""

    def __init__(self, max_value: float = 2, axis: int = 0) -> None:
        super().__init__(axis)
        self.max_value = max_value

    def __call__(self, w: Any) -> Any:
        norms = self._norms(w)
        desired = tf.clip_by_value(norms, 0, self.max_value)
        return w * (desired / (backend.epsilon() + norms))


class MinMaxNorm(_Norm):
    """Norms between two values, which a weight nears by `rate`."""

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: int = 0
    ) -> None:
        super().__init__(axis)
        self.min_value, self.max_value, self.rate = min_value, max_value, rate

    def __call__(self, w: Any) -> Any:
        norms = self._norms(w)
        clipped = tf.clip_by_value(norms, self.min_value, self.max_value)
        desired = self.rate * clipped + (1 - self.rate) * norms
        return w * (desired / (backend.epsilon() + norms))


class NonNeg(Constraint):
    """No negative weights."""

    def __call__(self, w: Any) -> Any:
        return w * tf.cast(tf.greater_equal(w, 0.0), w.dtype)


class UnitNorm(_Norm):
    """Norms of 1."""

    def __call__(self, w: Any) -> Any:
        return w / (backend.epsilon() + self._norms(w))


max_norm, min_max_norm, non_neg, unit_norm = MaxNorm, MinMaxNorm, NonNeg, UnitNorm
_BY_NAME: dict[str, type[Constraint]] = {
    "max_norm": MaxNorm,
    "min_max_norm": MinMaxNorm,
    "non_neg": NonNeg,
    "unit_norm": UnitNorm,
}


def get(identifier: Any) -> Any:
    """The constraint of that name. Raises ValueError for an unknown name."""
    identifier = deserialize(identifier, globals().get, "constraint")
    if identifier is None or callable(identifier):
        return identifier
    for name, constraint in _BY_NAME.items():
        if identifier in (name, constraint.__name__):
            return constraint()
    raise ValueError(f"Could not interpret constraint identifier: {identifier}")


__getattr__ = missing("tf.keras.constraints")
