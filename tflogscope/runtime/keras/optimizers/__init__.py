"""`tf.keras.optimizers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras import backend, configuring
from tflogscope.runtime.keras.configuring import serialize
from tflogscope.runtime.keras.optimizers import schedules
from tflogscope.runtime.keras.optimizers.algorithms import SGD, Adagrad, Adam, AdamW, RMSprop
from tflogscope.runtime.keras.optimizers.base import Optimizer
from tflogscope.runtime.keras.optimizers.others import Adadelta, Adamax, Ftrl, Lion, Nadam

__all__ = [
    "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lion", "Nadam", "Optimizer",
    "RMSprop", "deserialize", "get", "schedules", "serialize",
]  # fmt: skip

_BY_NAME: dict[str, Callable[[], Optimizer]] = {
    "adadelta": Adadelta,
    "adagrad": Adagrad,
    "adam": Adam,
    "adamax": Adamax,
    "adamw": AdamW,
    "ftrl": Ftrl,
    "lion": Lion,
    "nadam": Nadam,
    "rmsprop": RMSprop,
    "sgd": SGD,
}


def deserialize(config: dict[str, Any]) -> Any:
    """The optimizer that a configuration describes."""
    kind = _BY_NAME.get(config["class_name"].lower())
    return configuring.deserialize(config, lambda _: kind, "optimizer")


def get(identifier: Any) -> Optimizer:
    """The optimizer of that name, with its defaults. Raises ValueError for an unknown name."""
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, dict):
        return deserialize(identifier)  # type: ignore[no-any-return]
    if isinstance(identifier, str) and identifier.lower() in _BY_NAME:
        return _BY_NAME[identifier.lower()]()
    if isinstance(identifier, str):
        raise ValueError(backend.unknown("optimizer", identifier))
    raise ValueError(f"Could not interpret optimizer identifier: {identifier}")


__getattr__ = missing("tf.keras.optimizers")
