"""From a call to the trace that will do for it: looked up, or made.

Told about: `TracingCompiler` of `eager/polymorphic_function/tracing_compiler.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tflogscope.runtime import telling
from tflogscope.runtime.function.cache import FunctionCache, current_context
from tflogscope.runtime.function.concrete import ConcreteFunction
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.function.signature import FunctionType, Signature
from tflogscope.runtime.function.tracing import make_placeholders, trace

__all__ = ["TracingCompiler"]


class TracingCompiler:
    """A Python function with its traces. `tracing_count` says how often it was traced."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str,
        input_signature: Sequence[Any] | None = None,
        attributes: Mapping[str, Any] | None = None,
        *,
        autograph: bool = True,
        reduce_retracing: bool = False,
        around: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        """`around` makes a context manager in which the Python function runs when it is traced."""
        self.python_function = python_function
        self.name = name
        self.signature = Signature(python_function, input_signature)
        self.tracing_count = 0
        self._attributes = dict(attributes or {})
        self._autograph = autograph
        self._reduce_retracing = reduce_retracing
        self._around = around
        self._cache = FunctionCache()
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the trace for these arguments. Raises TypeError for arguments that don't fit."""
        concrete, tensors = self.concrete(args, kwargs)
        return concrete.call_flat(tensors, concrete.captured_inputs)

    def concrete(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[ConcreteFunction, list[Any]]:
        """The trace for these arguments, made if need be, and the tensors among them."""
        with self._lock:
            bound = self.signature.bind(args, kwargs)
            variables: list[Any] = []
            type_ = self.signature.type(bound, variables)
            where = current_context()
            concrete = self._cache.lookup(where, type_)
            if concrete is None:
                if self._reduce_retracing and self.signature.input_signature is None:
                    traced = self._cache.generalise(where, type_)
                else:
                    traced = type_
                concrete = self._trace(traced, variables)
                self._cache.add(where, traced, concrete)
            return concrete, type_.tensors(bound)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for these arguments, which may be TensorSpecs; without any, for the input
        signature.
        """
        if self.signature.input_signature is not None and not args and not kwargs:
            args = self.signature.input_signature
        return self.concrete(args, kwargs)[0]

    def traces(self) -> list[ConcreteFunction]:
        """All traces."""
        return self._cache.values()

    def _trace(self, type_: FunctionType, variables: Sequence[Any]) -> ConcreteFunction:
        self.tracing_count += 1
        graph = FuncGraph(self.name)
        placeholders = make_placeholders(graph, type_, variables)
        args, kwargs = self.signature.unbind(placeholders)
        with self._around():
            trace(graph, self._converted(), args, kwargs)
        concrete = ConcreteFunction(graph, self._attributes, self.signature, type_)
        if telling.listener is not None:
            telling.listener.function_traced(concrete.inference.name, concrete)
        return concrete

    def _converted(self) -> Callable[..., Any]:
        """The Python function, with its `if`, `for` and `while` made fit for tensors if `autograph`
        is asked for.
        """
        from tflogscope.runtime.autograph.conversion import Status, tf_convert, with_status

        function = getattr(self.python_function, "resolve", lambda: self.python_function)()
        if self._autograph:
            return tf_convert(function, whole=True)

        def as_it_is(*args: Any, **kwargs: Any) -> Any:
            with with_status(Status.DISABLED):
                return function(*args, **kwargs)

        return as_it_is
