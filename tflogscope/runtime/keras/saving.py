"""`tf.keras.saving`: configurations. There are no files of models.

Told about: `keras/src/saving/`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras import (
    configuring,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    optimizers,
    regularizers,
)
from tflogscope.runtime.keras.configuring import (
    custom_object_scope,
    custom_objects,
    register_keras_serializable,
)

__all__ = [
    "CustomObjectScope", "custom_object_scope", "deserialize_keras_object", "get_custom_objects",
    "get_registered_name", "register_keras_serializable", "serialize_keras_object",
]  # fmt: skip

CustomObjectScope = custom_object_scope


def get_custom_objects() -> dict[str, Any]:
    """The classes and functions of the user's that are known by name."""
    return custom_objects


def get_registered_name(obj: Any) -> str:
    """The name under which a class is found again."""
    found = (name for name, value in custom_objects.items() if value is obj)
    return next(found, obj.__name__)


def serialize_keras_object(obj: Any) -> Any:
    """The object as a dict."""
    return layers.serialize(obj) if isinstance(obj, layers.Layer) else configuring.serialize(obj)


def deserialize_keras_object(config: Any, custom_objects: Any = None, **_: Any) -> Any:
    """The object that a dict describes. Raises ValueError for an unknown class."""
    with custom_object_scope(custom_objects or {}):
        for namespace in (losses, metrics, optimizers, initializers, regularizers, constraints):
            found = vars(namespace).get(config["class_name"])
            if str(config.get("module")).endswith(namespace.__name__.rpartition(".")[2]) and found:
                return configuring.deserialize(config, vars(namespace).get, "object")
        return layers.deserialize(config)


__getattr__ = missing("tf.keras.saving")
