"""What all of Keras shares: its settings, names that are given automatically, the scopes of layers, and
the call that is under way. `keras3()` is where the recipes of Keras 2 and Keras 3 part.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from tflogscope.runtime.core import context
from tflogscope.runtime.core.release import since

_uids: Counter[str] = Counter()


def keras3() -> bool:
    return since(2, 16)


def floatx() -> str:
    return "float32"


def epsilon() -> float:
    return 1e-7


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


class _CallState(threading.local):
    """Of the thread: the layers that are being called."""

    depth = 0
    training: Any = None
    symbolic = False
    scopes: tuple[Any, ...] = ()

    @contextmanager
    def enter(self, training: Any, *, symbolic: bool = False) -> Iterator[None]:
        before = self.depth, self.training, self.symbolic
        self.depth, self.training = self.depth + 1, training
        self.symbolic = self.symbolic or symbolic
        try:
            yield
        finally:
            self.depth, self.training, self.symbolic = before


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


def mask_of(tensor: Any) -> Any:
    return getattr(tensor, "_keras_mask", None)


def found(identifier: Any, table: dict[str, Any], kind: str) -> Any:
    if isinstance(identifier, str):
        if identifier not in table:
            raise ValueError(f"Unknown {kind}: '{identifier}'.")
        identifier = table[identifier]
    return identifier() if isinstance(identifier, type) else identifier
