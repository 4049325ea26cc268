"""`tf.Module`: an object that finds the variables and modules in its attributes. See
`tensorflow/python/module/module.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tflogscope.runtime.core import context
from tflogscope.runtime.function.variables import Variable


class Module:
    """Something with variables."""

    def __init__(self, name: str | None = None) -> None:
        self._name = camel_to_snake(type(self).__name__) if name is None else name
        with context.name_scope(self._name) as scope:
            self._scope_name = scope

    name = property(lambda self: self._name)
    name_scope = property(lambda self: context.name_scope(self._scope_name))
    variables = property(lambda self: tuple(_found(self, _is_variable, {id(self)})))
    trainable_variables = property(lambda self: tuple(v for v in self.variables if v.trainable))
    submodules = property(
        lambda self: tuple(_found(self, lambda value: isinstance(value, Module), {id(self)}))
    )


def _is_variable(value: Any) -> bool:
    return isinstance(value, Variable)


def _found(module: Any, wanted: Callable[[Any], bool], seen: set[int]) -> Iterator[Any]:
    inner: list[Any] = []
    for name in sorted(vars(module)):
        for leaf in _leaves(vars(module)[name]):
            if id(leaf) not in seen and (wanted(leaf) or isinstance(leaf, Module)):
                seen.add(id(leaf))
                inner += [leaf] if isinstance(leaf, Module) else []
                if wanted(leaf):
                    yield leaf
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
