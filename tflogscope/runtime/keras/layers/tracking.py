"""What a layer owns: variables and layers set as its attributes, also inside lists, tuples and
dicts.

Told about: `Layer.__setattr__` and `_gather_children_attribute` of
`keras/src/engine/base_layer.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import tflogscope.runtime.api as tf

__all__ = ["Tracked", "tracked_in", "unique", "variables_in"]


def unique(items: Iterable[Any]) -> list[Any]:
    """Each object once, in order."""
    return list({id(item): item for item in items}.values())


class Tracked:
    """An object that notes which variables and which tracked objects become its attributes."""

    _own_variables: list[Any]
    _children: list[Any]
    _tracking = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._tracking:
            self._forget(name, value)
            self._track(value)
        object.__setattr__(self, name, value)

    def _forget(self, name: str, value: Any) -> None:
        """A variable that another takes the place of is its own no more."""
        old = self.__dict__.get(name)
        if isinstance(old, tf.Variable) and old is not value:
            others = (each for key, each in self.__dict__.items() if key != name)
            if not any(each is old for each in others):
                self._own_variables[:] = [each for each in self._own_variables if each is not old]

    def __delattr__(self, name: str) -> None:
        value = self.__dict__.get(name)
        object.__delattr__(self, name)
        if any(each is value for each in self.__dict__.get("_children", ())):
            self._children[:] = [child for child in self._children if child is not value]

    def _track(self, value: Any) -> None:
        if isinstance(value, tf.Variable):
            if not any(each is value for each in self._lists()[0]):
                self._own_variables.append(value)
        elif isinstance(value, Tracked) or (
            isinstance(value, (list, tuple, Mapping)) and holds_tracked(value)
        ):
            children = self._lists()[1]
            if not any(each is value for each in children):
                children.append(value)

    def _lists(self) -> tuple[list[Any], list[Any]]:
        """The two lists; made when first needed, since a subclass may set attributes before
        `super().__init__()`.
        """
        self.__dict__.setdefault("_own_variables", [])
        self.__dict__.setdefault("_children", [])
        return self._own_variables, self._children

    def _sublayers(self) -> Iterator[Any]:
        """The tracked objects right below this one."""
        for child in self._lists()[1]:
            yield from tracked_in(child)

    @property
    def submodules(self) -> tuple[Any, ...]:
        """All tracked objects in it: those right below it first, then those in each of them. Told
        about: `Module._flatten` of `tensorflow/python/module/module.py`.
        """
        found: dict[int, Any] = {id(self): self}

        def visit(module: Tracked) -> None:
            below = [each for each in module._sublayers() if id(each) not in found]
            found.update((id(each), each) for each in below)
            for each in below:
                visit(each)

        visit(self)
        return tuple(found.values())[1:]


def holds_tracked(value: Any) -> bool:
    """Is there a variable or layer in it? An empty list may get one later."""
    if isinstance(value, list) and not value:
        return True
    values = value.values() if isinstance(value, Mapping) else value
    return any(
        isinstance(each, (Tracked, tf.Variable))
        or (isinstance(each, (list, tuple, Mapping)) and holds_tracked(each))
        for each in values
    )


def tracked_in(value: Any) -> Iterator[Tracked]:
    """The tracked objects inside lists, tuples and dicts."""
    if isinstance(value, Tracked):
        yield value
    elif isinstance(value, (list, tuple, Mapping)):
        for each in _values_of(value):
            yield from tracked_in(each)


def variables_in(value: Any) -> Iterator[Any]:
    """The variables inside lists, tuples and dicts."""
    if isinstance(value, tf.Variable):
        yield value
    elif isinstance(value, (list, tuple, Mapping)):
        for each in _values_of(value):
            yield from variables_in(each)


def _values_of(value: Any) -> Iterable[Any]:
    """Those of a dict sorted by key. Told about: `_DictWrapper._values` of
    `tensorflow/python/trackable/data_structures.py`.
    """
    return (value[key] for key in sorted(value)) if isinstance(value, Mapping) else value
