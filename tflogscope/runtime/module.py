"""`tf.Module`: an object that finds the variables and modules in its attributes.

Told about: `tensorflow/python/module/module.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tflogscope.runtime import context
from tflogscope.runtime.variables import Variable

__all__ = ["Module"]


class Module:
    """Something with variables. Subclasses make them in `__init__` or on their first call."""

    def __init__(self, name: str | None = None) -> None:
        """Raises ValueError for a name that is no Python identifier."""
        name = camel_to_snake(type(self).__name__) if name is None else name
        if not re.fullmatch(r"[a-zA-Z_]([a-zA-Z0-9_])*", name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python "
                "identifiers (e.g. a valid class name)."
            )
        self._name = name
        with context.name_scope(name) as scope:
            self._scope_name = scope

    @property
    def name(self) -> str:
        """The name given, or that of the class in small letters."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """A name scope for the variables and ops of the module."""
        return context.NameScope(self._scope_name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """All variables in its attributes, and in theirs."""
        return tuple(self._flatten(lambda value: isinstance(value, Variable)))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Of these the trainable ones."""
        return tuple(self._flatten(lambda value: isinstance(value, Variable) and value.trainable))

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        """Of these the others."""
        return tuple(
            self._flatten(lambda value: isinstance(value, Variable) and not value.trainable)
        )

    @property
    def submodules(self) -> tuple[Any, ...]:
        """All modules in its attributes, and in theirs."""
        return tuple(self._flatten(lambda value: isinstance(value, Module)))

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """A decorator: the method runs in the module's name scope."""

        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        wrapper.__name__ = method.__name__
        wrapper.__doc__ = method.__doc__
        wrapper.__wrapped__ = method  # type: ignore[attr-defined]
        return wrapper

    def _flatten(self, wanted: Callable[[Any], bool]) -> Iterator[Any]:
        return _found(self, wanted, {id(self)})


def _found(module: Any, wanted: Callable[[Any], bool], seen: set[int]) -> Iterator[Any]:
    """What is wanted in a module's attributes, in the order of their names; then the same of the
    modules in it.
    """
    inner: list[Any] = []
    for name in sorted(vars(module)):
        for leaf in _leaves(vars(module)[name]):
            if id(leaf) in seen:
                continue
            if wanted(leaf):
                seen.add(id(leaf))
                yield leaf
            if isinstance(leaf, Module):
                seen.add(id(leaf))
                inner.append(leaf)
    for submodule in inner:
        yield from _found(submodule, wanted, seen)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _leaves(value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def camel_to_snake(name: str) -> str:
    """`MyLayer` as `my_layer`."""
    return re.sub(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))", r"_\1", name).lower()
