"""Configurations: dicts from which an object of Keras can be made again.

Most objects are described by what they were made with: the names of the arguments are those of
attributes. Layers have a table (layers/configurations.py), since the order is Keras' own.

Told about: `keras/src/saving/serialization_lib.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Configured", "custom_object_scope", "custom_objects", "deserialize",
    "register_keras_serializable", "serialize",
]  # fmt: skip

_OURS = "tflogscope.runtime.keras."
_MODULES = {
    "models": "",
    "optimizers.schedules": ".optimizers.schedules",
    "metrics_base": ".metrics",
    "bounded_metrics": ".metrics",
    "confusion_metrics": ".metrics",
    "f_score_metrics": ".metrics",
}
custom_objects: dict[str, Any] = {}
"""Classes and functions of the user's, by the names under which they are found again."""


class Configured:
    """An object whose arguments are attributes of the same names."""

    def get_config(self) -> dict[str, Any]:
        """The arguments that would make it again."""
        parameters = inspect.signature(type(self).__init__).parameters.values()
        names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """A new one, made with what `get_config` gave."""
        return cls(**config)


def serialize(thing: Any) -> Any:
    """The object as a dict with its class and configuration; a function by its name."""
    if thing is None or isinstance(thing, (str, int, float)):
        return thing
    if not hasattr(thing, "get_config"):
        return getattr(thing, "__name__", thing)
    kind = type(thing)
    ours = kind.__module__.startswith(_OURS)
    name = next((key for key, value in custom_objects.items() if value is kind), kind.__name__)
    return {
        "module": _public_module(kind) if ours else None,
        "class_name": kind.__name__,
        "config": thing.get_config(),
        "registered_name": None if ours else name,
    }


def _public_module(kind: type) -> str:
    """`keras.layers` for a class in `layers/core.py`; `keras` for models."""
    path = kind.__module__.removeprefix(_OURS)
    part = path if path in _MODULES else path.partition(".")[0]
    return "keras" + _MODULES.get(part, f".{part}")


def deserialize(config: Any, namespace: Callable[[str], Any], kind: str) -> Any:
    """The object that a configuration describes; what is none, as it is.

    Raises ValueError for a class that is neither in the namespace nor the user's.
    """
    if not isinstance(config, dict) or "class_name" not in config:
        return config
    name = config.get("registered_name") or config["class_name"]
    found = custom_objects.get(name) or custom_objects.get(config["class_name"])
    found = found or namespace(config["class_name"])
    if found is None:
        from tflogscope.runtime.keras import backend

        raise ValueError(backend.unknown(kind, config["class_name"]))
    made = found.from_config(config.get("config", {}))
    if config.get("build_config"):
        made.build_from_config(config["build_config"])
    return made


def register_keras_serializable(package: str = "Custom", name: str | None = None) -> Any:
    """A decorator: the class is found again by `package>name`."""

    def register(thing: Any) -> Any:
        custom_objects[f"{package}>{name or thing.__name__}"] = thing
        return thing

    return register


@contextmanager
def custom_object_scope(objects: dict[str, Any]) -> Iterator[None]:
    """Within it, these names are known too."""
    before = dict(custom_objects)
    custom_objects.update(objects)
    try:
        yield
    finally:
        custom_objects.clear()
        custom_objects.update(before)
