"""What all of Keras 3 knows at one time: names given, scopes entered, whether variables may be
made.

A scope is two things: a part of the paths of variables, and a name scope of TensorFlow.

Told about: `keras/src/backend/common/global_state.py`, `name_scope.py`, `stateless_scope.py`,
`keras/src/utils/naming.py`.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tflogscope.runtime.api as tf

__all__ = [
    "auto_name",
    "autocast_scope",
    "clear_session",
    "name_scope",
    "path",
    "snake_case",
    "state",
    "stateless_scope",
]


class _Scope:
    """A scope that was entered: by whom, and where in the tree of variables it stands."""

    def __init__(self, name: str, caller: Any) -> None:
        self.name, self.caller = name, caller
        self.parent: str | None = getattr(caller, "_parent_path", None)


class _State(threading.local):
    def __init__(self) -> None:
        self.uids: Counter[str] = Counter()
        self.scopes: list[_Scope] = []
        self.stateless = 0
        self.uninitialized: list[Any] = []
        self.call: Any = None
        self.seed_generator: Any = None
        self.policy: Any = None
        self.autocast: str | None = None


state = _State()


def snake_case(name: str) -> str:
    """`LayerNormalization` as `layer_normalization`, `Conv2D` as `conv2d`."""
    words = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", name))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()


def auto_name(prefix: str) -> str:
    """`dense`, then `dense_1`, and so on, for a class `Dense`."""
    name = snake_case(prefix)
    number = state.uids[name]
    state.uids[name] += 1
    return f"{name}_{number}" if number else name


def clear_session() -> None:
    """Start again with names."""
    state.uids.clear()
    state.seed_generator = None


@contextmanager
def name_scope(name: str, caller: Any = None) -> Iterator[None]:
    """Enter a scope; not a second time if the same caller is in it already.

    In a graph TensorFlow makes the name unique: the second call of a layer is in `dense_1`. A layer
    enters its scope once to be built and once to be called, so its ops are in `dense_1` as well.
    """
    top = state.scopes[-1] if state.scopes else None
    if top is not None and caller is not None and top.caller is caller and top.name == name:
        yield
        return
    state.scopes.append(_Scope(name, caller))
    try:
        with tf.name_scope(name):
            yield
    finally:
        state.scopes.pop()


def path() -> str:
    """The scopes as a path: `sequential/dense`."""
    parts: list[str] = []
    for scope in state.scopes:
        if scope.parent is not None:
            parts = [part for part in scope.parent.split("/") if part]
        parts.append(scope.name)
    return "/".join(parts)


@contextmanager
def autocast_scope(dtype: str | None) -> Iterator[None]:
    """In it weights are cast to this dtype when they are read; with None they are not."""
    before, state.autocast = state.autocast, dtype
    try:
        yield
    finally:
        state.autocast = before


@contextmanager
def stateless_scope() -> Iterator[None]:
    """In it nothing is made for good: variables get their first values when it ends."""
    state.stateless += 1
    try:
        yield
    finally:
        state.stateless -= 1
    if not state.stateless:
        waiting, state.uninitialized = state.uninitialized, []
        for variable in waiting:
            variable.initialize_now()
