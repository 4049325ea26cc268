"""The traces of one function, by function type and context.

A call looks for a trace of exactly its type, then for the most specific one whose type includes its
own.

Told about: `core/function/polymorphism/function_cache.py`, `type_dispatch.py`,
`eager/polymorphic_function/function_context.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflogscope.runtime import context
from tflogscope.runtime.function.signature import FunctionType
from tflogscope.runtime.graph import Graph

if TYPE_CHECKING:
    from tflogscope.runtime.function.concrete import ConcreteFunction

__all__ = ["FunctionCache", "current_context"]


def current_context() -> Any:
    """What a trace depends on besides its arguments: the TF1 graph it is in, if any, and the device
    asked for.
    """
    with context.init_scope():
        outermost = context.current()
    return outermost if isinstance(outermost, Graph) else None, context.requested_device()


class FunctionCache:
    """Traces by key."""

    def __init__(self) -> None:
        self._traces: dict[tuple[Any, FunctionType], ConcreteFunction] = {}
        self._matches: dict[tuple[Any, FunctionType], FunctionType] = {}

    def lookup(self, where: Any, type: FunctionType) -> ConcreteFunction | None:
        """The trace that will do for calls of that type, None if there is none."""
        exact = self._traces.get((where, type))
        if exact is not None:
            return exact
        match = self._matches.get((where, type)) or self._most_specific(where, type)
        if match is None:
            return None
        self._matches[where, type] = match
        return self._traces[where, match]

    def add(self, where: Any, type: FunctionType, function: ConcreteFunction) -> None:
        """Keep a trace."""
        self._traces[where, type] = function
        self._matches.clear()

    def generalise(self, where: Any, type: FunctionType) -> FunctionType:
        """A type that includes this one and those traced before, as far as that is possible:
        `reduce_retracing`.
        """
        for other_context, other in self._traces:
            if other_context == where:
                type = type.generalised(other) or type
        return type

    def values(self) -> list[ConcreteFunction]:
        """All traces."""
        return list(self._traces.values())

    def _most_specific(self, where: Any, type: FunctionType) -> FunctionType | None:
        best: FunctionType | None = None
        for other_context, other in self._traces:
            if (
                other_context == where
                and other.is_supertype_of(type)
                and (best is None or best.is_supertype_of(other))
            ):
                best = other
        return best
