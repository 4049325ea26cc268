"""Names without a value, as values: a block that may assign a variable takes it in and gives it
back like any other.

Told about: autograph/operators/variables.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Undefined:
    """The value of a variable that has none. Whatever is asked of it is undefined too."""

    __slots__ = ("symbol_name",)

    def __init__(self, symbol_name: str) -> None:
        self.symbol_name = symbol_name

    def __getattr__(self, name: str) -> Undefined:
        return self

    def __getitem__(self, index: object) -> Undefined:
        return self

    def __repr__(self) -> str:
        return self.symbol_name


class UndefinedReturnValue:
    """What a function returns that has not returned yet."""


def load(value: Any) -> Any:
    """The value of a variable that is read. Raises UnboundLocalError if it has none."""
    if isinstance(value, Undefined):
        raise UnboundLocalError(f"'{value.symbol_name}' is used before assignment")
    return value


def load_or_undefined(read: Callable[[], Any], name: str) -> Any:
    """The value of `self.x` or `a[0]`, which may not be there."""
    try:
        return read()
    except (KeyError, AttributeError, NameError, IndexError):
        return Undefined(name)


def returned(value: Any, did_return: Any) -> Any:
    """What a converted function returns at its end."""
    del did_return  # NB: as in TensorFlow; where a graph decides, both sides had to return
    return None if isinstance(value, UndefinedReturnValue) else value


def is_missing(value: Any) -> bool:
    """Whether this is no value that a tensor could stand for."""
    return value is None or isinstance(value, Undefined | UndefinedReturnValue)
