"""`tf.keras.optimizers` of Keras 3. Read base.py first: from gradients to new weights."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.backend import unknown
from tflogscope.runtime.keras3.optimizers import schedules
from tflogscope.runtime.keras3.optimizers.algorithms import SGD, Adagrad, Adam, AdamW, RMSprop
from tflogscope.runtime.keras3.optimizers.base import Optimizer
from tflogscope.runtime.keras3.optimizers.more_algorithms import (
    Adadelta,
    Adamax,
    Ftrl,
    Lamb,
    Lion,
    Nadam,
)

__all__ = [
    "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lamb", "Lion", "Nadam",
    "Optimizer", "RMSprop", "get", "schedules",
]  # fmt: skip

_BY_NAME: dict[str, Any] = {
    each.__name__.lower(): each
    for each in (SGD, Adadelta, Adagrad, Adam, AdamW, Adamax, Ftrl, Lamb, Lion, Nadam, RMSprop)
}


def get(identifier: Any) -> Any:
    """The optimizer of that name; others as they are. Raises ValueError for what is none."""
    if identifier is None or isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, str) and identifier.lower() in _BY_NAME:
        return _BY_NAME[identifier.lower()]()
    if isinstance(identifier, str):
        raise ValueError(unknown("optimizer", identifier))
    raise ValueError(f"Could not interpret optimizer identifier: {identifier}")


__getattr__ = missing("tf.keras.optimizers")
