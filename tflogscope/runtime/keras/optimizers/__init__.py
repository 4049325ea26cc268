"""`tf.keras.optimizers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.optimizers import schedules
from tflogscope.runtime.keras.optimizers.algorithms import SGD, Adagrad, Adam, AdamW, RMSprop
from tflogscope.runtime.keras.optimizers.base import Optimizer

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "get", "schedules"]

_BY_NAME: dict[str, Callable[[], Optimizer]] = {
    "adagrad": Adagrad,
    "adam": Adam,
    "adamw": AdamW,
    "rmsprop": RMSprop,
    "sgd": SGD,
}


def get(identifier: Any) -> Optimizer:
    """The optimizer of that name, with its defaults. Raises ValueError for an unknown name."""
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, str) and identifier.lower() in _BY_NAME:
        return _BY_NAME[identifier.lower()]()
    raise ValueError(f"Could not interpret optimizer identifier: {identifier}")


__getattr__ = missing("tf.keras.optimizers")
