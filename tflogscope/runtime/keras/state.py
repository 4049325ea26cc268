"""What all of Keras shares: names that are given automatically, constructors whose arguments are a
table, the scopes of layers, and the call that is under way. `keras3()` is where the recipes of Keras 2
and Keras 3 part.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar

from tflogscope.runtime.core import context, errors
from tflogscope.runtime.core.context import since

OURS = "tflogscope.runtime."
_uids: Counter[str] = Counter()


def keras3() -> bool:
    return since(2, 16)


def snake_case(name: str) -> str:
    """`dense_layer` for DenseLayer."""
    words = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()


def unique_name(kind: str) -> str:
    """`dense`, then `dense_1`, … for Dense."""
    name = snake_case(kind)
    _uids[name] += 1
    return f"{name}_{_uids[name] - 1}" if _uids[name] > 1 else name


def clear_session() -> None:
    _uids.clear()


def refuse(what: str, options: dict[str, Any]) -> None:
    """Raises NotInThisRuntime for an option that is not there, unless it is turned off."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise errors.NotInThisRuntime(f"{what}({name}=…)")


class Configured:
    """Its constructor's arguments are a table: names in Keras' order with defaults; `...` is no default."""

    options: ClassVar[dict[str, Any]] = {}
    shared: ClassVar[dict[str, Any]] = {}
    """Arguments that are only given by name."""
    where = ""
    name: Any

    def configure(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Make the arguments attributes."""
        given = dict(zip(self.options, args, strict=False)) | kwargs
        for name, default in (self.shared | self.options).items():
            value = given.pop(name, default)
            if value is ...:
                raise TypeError(f"{type(self).__name__} needs {name!r}")
            object.__setattr__(self, name, self.read(name, value))
        refuse(f"{self.where}{type(self).__name__}", given)

    def read(self, name: str, value: Any) -> Any:
        """An argument as an attribute: what is given by its name is looked up."""
        return value

    def __getattr__(self, name: str) -> Any:
        if self.where and type(self).__module__.startswith(OURS):
            return errors.missing(f"{self.where}{type(self).__name__}", name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def found(identifier: Any, table: dict[str, Any], kind: str) -> Any:
    """What has that name in the table; what is no name is itself. A class is called."""
    if isinstance(identifier, str):
        if identifier not in table:
            raise ValueError(f"Unknown {kind}: '{identifier}'.")
        identifier = table[identifier]
    return identifier() if isinstance(identifier, type) else identifier


# -- the call that is under way


class _CallState(threading.local):
    """Of the thread: does the model train, are only shapes asked for, and the scopes of Keras 3."""

    training: Any = None
    symbolic = False
    scopes: tuple[Any, ...] = ()

    @contextmanager
    def enter(self, training: Any, *, symbolic: bool = False) -> Iterator[None]:
        before = self.training, self.symbolic
        self.training, self.symbolic = training, self.symbolic or symbolic
        try:
            yield
        finally:
            self.training, self.symbolic = before


call_state = _CallState()


@contextmanager
def scope_of_keras3(name: str, owner: Any) -> Iterator[None]:
    before = call_state.scopes
    again = bool(before) and before[-1] is owner
    call_state.scopes = (*before, owner)
    try:
        with nullcontext() if again else context.name_scope(name):
            yield
    finally:
        call_state.scopes = before


def layer_scope(layer: Any) -> AbstractContextManager[Any]:
    if keras3():
        return scope_of_keras3(layer.name, layer)
    if context.executing_eagerly():
        return context.name_scope(layer.name)  # type: ignore[no-any-return]
    # one that ends in "/" is taken as it is: each call of the layer has the same scope
    outer = context.current_scope()
    return context.name_scope(f"{outer}/{layer.name}/" if outer else f"{layer.name}/")  # type: ignore[no-any-return]
