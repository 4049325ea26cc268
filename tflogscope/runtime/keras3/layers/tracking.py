"""What a layer owns: variables, layers, metrics and seed generators set as its attributes, also
inside lists, tuples and dicts.

Told about: `keras/src/utils/tracking.py`, `Layer._initialize_tracker`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tflogscope.runtime.keras3.metrics_base import Metric
from tflogscope.runtime.keras3.random import SeedGenerator
from tflogscope.runtime.keras3.variables import Variable

__all__ = ["Tracked"]


class Tracked:
    """An object that notes what becomes its attribute."""

    _owned: list[Any]

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Variable, Tracked, Metric, SeedGenerator, list, tuple, Mapping)):
            owned = self.__dict__.setdefault("_owned", [])
            if not any(each is value for each in owned):
                owned.append(value)
        object.__setattr__(self, name, value)

    def _parts(self, kind: type) -> list[Any]:
        """What it owns of that kind, in the order in which it came."""
        found: dict[int, Any] = {}
        for value in self.__dict__.get("_owned", ()):
            found.update((id(each), each) for each in _within(value) if isinstance(each, kind))
        return list(found.values())


def _within(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _within(each)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _within(each)
    else:
        yield value
