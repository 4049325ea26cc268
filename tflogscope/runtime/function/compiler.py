"""Tracing a Python function once for each type of its arguments. See
`tensorflow/python/eager/polymorphic_function/tracing_compilation.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tflogscope.runtime.core import context, telling
from tflogscope.runtime.core.graph import Graph
from tflogscope.runtime.function.concrete import ConcreteFunction
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.function.trace_types import (
    Arguments,
    CallType,
    Signature,
    tensors_of,
    type_of,
    with_shapes,
)
from tflogscope.runtime.function.tracing import make_placeholders, trace


class Compiler:
    """Traces a Python function for each type of its arguments, and keeps the traces."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str,
        input_signature: Sequence[Any] | None = None,
        attributes: Mapping[str, Any] | None = None,
        *,
        convert: Callable[..., Any] = lambda function: function,
        reduce_retracing: bool = False,
        around: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        self.python_function, self.name = python_function, name
        self.signature = Signature(python_function, input_signature)
        self.tracing_count = 0
        self.traces: dict[tuple[Any, CallType], ConcreteFunction] = {}
        self._attributes = dict(attributes or {})
        self._convert, self._reduces, self._around = convert, reduce_retracing, around
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        concrete, tensors = self.concrete(args, kwargs)
        return concrete.call_flat(tensors)

    def concrete(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[ConcreteFunction, list[Any]]:
        """The trace for these arguments, made if there is none, and the tensors among them."""
        with self._lock:
            if self.signature.input_signature is not None and not args and not kwargs:
                args = self.signature.input_signature
            bound = self.signature.bind(args, kwargs)
            described = self.signature.described(bound)
            type_ = type_of(described)
            with context.init_scope():
                outermost = context.current()
            where = outermost if isinstance(outermost, Graph) else None
            found = self._found(where, type_) or self._trace(where, type_, described)
            return found, tensors_of(bound)

    def _found(self, where: Any, type_: CallType) -> ConcreteFunction | None:
        """The trace that fits, of several the most specific one."""
        best: CallType | None = None
        for place, other in self.traces:
            if place is where and other.fits(type_) and (best is None or best.fits(other)):
                best = other
        return None if best is None else self.traces[where, best]

    def _trace(self, where: Any, type_: CallType, described: Arguments) -> ConcreteFunction:
        if self._reduces and self.signature.input_signature is None:
            for place, other in self.traces:
                if place is where:
                    type_ = type_.generalised(other)
        described = with_shapes(described, type_.shapes)
        self.tracing_count += 1
        graph = FuncGraph(self.name)
        placeholders = make_placeholders(graph, described)
        args, kwargs = self.signature.unbind(placeholders)
        with self._around():
            trace(graph, self._convert(self.python_function), args, kwargs)
        concrete = ConcreteFunction(graph, self._attributes, described)
        if telling.listener is not None:
            telling.listener.function_traced(concrete.inference.name, concrete)
        self.traces[where, type_] = concrete
        return concrete
