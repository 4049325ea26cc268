"""What happens when a program asks for a part of TensorFlow that this runtime does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from tflogscope.runtime.errors import MissingName

__all__ = ["MissingName", "missing"]


def missing(module: str) -> Callable[[str], NoReturn]:
    """A module's `__getattr__`. Raises MissingName, and a plain AttributeError for Python's own
    names.
    """

    def getattr_(name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise MissingName(f"{module}.{name}")

    return getattr_
