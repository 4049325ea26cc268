"""Regularizers: what a layer adds to the loss for weights that are large.

Told about: `keras/src/regularizers.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.configuring import Configured, deserialize, serialize

__all__ = [
    "L1",
    "L1L2",
    "L2",
    "OrthogonalRegularizer",
    "Regularizer",
    "get",
    "l1",
    "l1_l2",
    "l2",
    "serialize",
]


class Regularizer(Configured):
    """A function of a weight that gives a loss. Users may subclass it."""

    def __call__(self, x: Any) -> Any:
        raise NotImplementedError("Must be implemented in subclasses.")


class L1(Regularizer):
    """The sum of absolute values."""

    def __init__(self, l1: float = 0.01) -> None:
        self.l1 = _float32(l1)

    def __call__(self, x: Any) -> Any:
        return self.l1 * tf.reduce_sum(tf.abs(x))


class L2(Regularizer):
    """The sum of squares."""

    def __init__(self, l2: float = 0.01) -> None:
        self.l2 = _float32(l2)

    def __call__(self, x: Any) -> Any:
        return 2.0 * self.l2 * tf.nn.l2_loss(x)


class L1L2(Regularizer):
    """Both."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = _float32(l1), _float32(l2)

    def __call__(self, x: Any) -> Any:
        total = tf.constant(0.0, dtype=x.dtype)
        if self.l1:
            total += self.l1 * tf.reduce_sum(tf.abs(x))
        if self.l2:
            total += 2.0 * self.l2 * tf.nn.l2_loss(x)
        return total


class OrthogonalRegularizer(Regularizer):
    """The rows (or columns) that are not orthogonal to each other."""

    def __init__(self, factor: float = 0.01, mode: str = "rows") -> None:
        self.factor, self.mode = _float32(factor), mode

    def __call__(self, x: Any) -> Any:
        """Raises ValueError for what is no matrix."""
        if len(x.shape) != 2:
            raise ValueError(
                "Inputs to OrthogonalRegularizer must have rank 2. Received: inputs.shape="
                f"{x.shape}"
            )
        rows = self.mode == "rows"
        x = tf.math.l2_normalize(x, axis=1 if rows else 0)
        product = tf.matmul(x, x, transpose_a=not rows, transpose_b=rows)
        size = x.shape[0 if rows else 1]
        away = product * (1.0 - tf.eye(size, dtype=x.dtype))
        return self.factor * 0.5 * tf.reduce_sum(tf.abs(away)) / (size * (size - 1.0) / 2.0)


l1, l2, orthogonal_regularizer = L1, L2, OrthogonalRegularizer


def _float32(value: float) -> float:
    """As near as a weight's dtype comes to it."""
    return float(np.float32(value))


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """Both, with other defaults."""
    return L1L2(l1, l2)


def get(identifier: Any) -> Callable[..., Any] | None:
    """The regularizer of that name; functions as they are. Raises ValueError for what is none."""
    known: dict[str, Callable[[], Regularizer]] = {
        "l1": L1, "L1": L1, "l2": L2, "L2": L2, "l1_l2": l1_l2, "L1L2": L1L2,
    }  # fmt: skip
    identifier = deserialize(identifier, globals().get, "regularizer")
    if isinstance(identifier, str) and identifier in known:
        return known[identifier]()
    if identifier is None or callable(identifier):
        return identifier  # type: ignore[no-any-return]
    raise ValueError(f"Could not interpret regularizer identifier: {identifier}")


__getattr__ = missing("tf.keras.regularizers")
