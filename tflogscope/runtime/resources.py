"""Resources: what a handle leads to, and that outlives the ops which use it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.shapes import TensorShape

__all__ = ["ANONYMOUS", "Resource", "kept", "named", "of_session"]

ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"
"""The name of resources that are found by their handle only."""


class Resource:
    """Where a variable's value is kept; `value` is None until it is initialised. Made by the kernel
    of `VarHandleOp`.
    """

    __slots__ = ("__weakref__", "dtype", "lock", "name", "shape", "value")

    def __init__(self, name: str, dtype: DType, shape: TensorShape) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.value: Any = None
        self.lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<ResourceHandle(name={self.name!r}, dtype={self.dtype!r}, shape={self.shape})>"


_named: dict[str, Resource] = {}


def named(name: str, dtype: DType, shape: TensorShape, kind: type[Resource] = Resource) -> Resource:
    """The resource of that name in the session that runs, made if it is not there."""
    return _named.setdefault(name, kind(name, dtype, shape))


def kept(name: str, make: Callable[[], Any]) -> Any:
    """What the session that runs keeps under that name, made if it is not there."""
    if name not in _named:
        _named[name] = make()
    return _named[name]


@contextmanager
def of_session(found: dict[str, Resource]) -> Iterator[None]:
    """Names lead to the resources of this session. NB: one session runs at a time."""
    global _named  # noqa: PLW0603 - all threads of the session's step see it
    previous, _named = _named, found
    try:
        yield
    finally:
        _named = previous
