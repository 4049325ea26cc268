"""What weights should be like: small.

Told about: `keras/src/regularizers/regularizers.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.regularizers import Regularizer
from tflogscope.runtime.keras3 import ops

__all__ = ["L1", "L1L2", "L2", "Regularizer", "get", "l1", "l1_l2", "l2"]


class L1(Regularizer):
    """The sum of absolute values."""

    def __init__(self, l1: float = 0.01) -> None:
        self.l1 = ops.convert_to_tensor(l1)

    def __call__(self, x: Any) -> Any:
        return ops.cast(self.l1, x.dtype) * ops.sum(ops.absolute(x))


class L2(Regularizer):
    """The sum of squares."""

    def __init__(self, l2: float = 0.01) -> None:
        self.l2 = l2

    def __call__(self, x: Any) -> Any:
        return ops.cast(self.l2, x.dtype) * ops.sum(ops.square(x))


class L1L2(Regularizer):
    """Both."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = l1 or 0.0, l2 or 0.0

    def __call__(self, x: Any) -> Any:
        total = ops.convert_to_tensor(0.0, x.dtype)
        if self.l1 != 0.0:
            total += ops.cast(self.l1, x.dtype) * ops.sum(ops.absolute(x))
        if self.l2 != 0.0:
            total += ops.cast(self.l2, x.dtype) * ops.sum(ops.square(x))
        return total


l1, l2, l1_l2 = L1, L2, L1L2


def get(identifier: Any) -> Callable[..., Any] | None:
    """The regularizer of that name; functions as they are. Raises ValueError for what is none."""
    if isinstance(identifier, str) and identifier in {"l1", "l2", "l1_l2", "L1", "L2", "L1L2"}:
        made: Regularizer = globals()[identifier]()
        return made
    if identifier is None or callable(identifier):
        return identifier  # type: ignore[no-any-return]
    raise ValueError(f"Could not interpret regularizer identifier: {identifier}")


__getattr__ = missing("tf.keras.regularizers")
