"""`import tensorflow as tf` and `import keras`: modules made of the table (table.py). A name that is not
there raises MissingName, which points to `tflogscope record`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from tflogscope.runtime.core import release
from tflogscope.runtime.core.errors import MissingName
from tflogscope.runtime.keras import namespace as keras_namespace
from tflogscope.runtime.names import table

__all__ = ["VERSIONS", "bind"]

VERSIONS = {
    "2.8": ("2.8.4", "2.8.0"),
    "2.13": ("2.13.1", "2.13.1"),
    "2.16": ("2.16.2", "3.3.3"),
    "2.20": ("2.20.0", "3.11.3"),
    "2.21": ("2.21.0", "3.12.0"),
}
"""Of each release that is followed the versions of TensorFlow and Keras that programs see."""


class _Namespace(ModuleType):
    """A module of the public API."""

    def __init__(self, name: str, names: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.__path__: list[str] = []  # to Python a package: what it lacks is looked for
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        raise MissingName(f"{self.__name__.replace('tensorflow', 'tf', 1)}.{name}")


def _modules(root: str, names: Mapping[str, Mapping[str, Any]]) -> dict[str, ModuleType]:
    made: dict[str, ModuleType] = {}
    for dotted in sorted(names):
        full = f"{root}.{dotted}".rstrip(".")
        made[full] = _Namespace(full, names[dotted])
        parent, _, own = full.rpartition(".")
        if parent:
            setattr(made[parent], own, made[full])
    return made


def bind(followed: str = release.BASE) -> Any:
    """Make `import tensorflow` and `import keras` mean the runtime in this process, like that release
    of TensorFlow. Gives `tf`.
    """
    series = ".".join(followed.split(".")[:2])
    version, keras_version = VERSIONS[series]
    release.follow(series)
    for name in [each for each in sys.modules if each.partition(".")[0] in {"tensorflow", "keras"}]:
        del sys.modules[name]
    modules = _modules("keras", keras_namespace(keras_version))
    modules |= _modules("tensorflow", table.namespace(modules["keras"], version))
    for name, each in list(modules.items()):
        if name.startswith("keras"):
            modules[f"tensorflow.{name}"] = each
    sys.modules.update(modules)
    return modules["tensorflow"]
