"""`tf.function`: a Python function is traced once for each type of its arguments. See
`polymorphic_function.py`, `tracing_compilation.py` of `tensorflow/python/eager/polymorphic_function/`.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tflogscope.runtime.core import context, nest, telling
from tflogscope.runtime.core.errors import missing
from tflogscope.runtime.core.graph import Graph
from tflogscope.runtime.core.tensors import TensorSpec
from tflogscope.runtime.function.autograph.conversion import convert
from tflogscope.runtime.function.concrete import ConcreteFunction
from tflogscope.runtime.function.func_graph import FuncGraph, make_placeholders, trace
from tflogscope.runtime.function.trace_types import (
    Arguments,
    CallType,
    Signature,
    tensors_of,
    type_of,
)
from tflogscope.runtime.function.variables import making_variables


class _Mode:
    eagerly = False


def run_functions_eagerly(run_eagerly: bool) -> None:
    """`tf.config.run_functions_eagerly`: from now on run the Python functions themselves."""
    _Mode.eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    return _Mode.eagerly


class PolymorphicFunction:
    """What `tf.function` gives."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        input_signature: Sequence[Any] | None = None,
        attributes: Mapping[str, Any] | None = None,
        *,
        name: str = "",
        autograph: bool = True,
        reduce_retracing: bool = False,
    ) -> None:
        self.python_function, self.__wrapped__ = python_function, python_function
        self.name = name or str(getattr(python_function, "__name__", "function"))
        self.__name__, self.__doc__ = self.name, getattr(python_function, "__doc__", None) or ""
        self._options = {"autograph": autograph, "reduce_retracing": reduce_retracing}
        self._attributes, self.input_signature = dict(attributes or {}), input_signature
        self._count, self._may_make_variables = 0, True
        self._traces: dict[tuple[Any, CallType], ConcreteFunction] = {}
        self._methods: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._lock = threading.RLock()

    @functools.cached_property
    def _signature(self) -> Signature:
        return Signature(self.python_function, self.input_signature)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _Mode.eagerly:
            return self.python_function(*args, **kwargs)
        concrete, tensors = self._concrete(args, kwargs)
        return concrete.call_flat(tensors)

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        if instance not in self._methods:  # NB: TensorFlow does not keep the object for it
            bound = self.python_function.__get__(instance)
            self._methods[instance] = PolymorphicFunction(
                bound, self.input_signature, self._attributes, name=self.name, **self._options
            )
        return self._methods[instance]

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for these arguments, or specs of them."""
        return self._concrete(args, kwargs)[0]

    def experimental_get_tracing_count(self) -> int:
        return self._count

    def _concrete(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[ConcreteFunction, list[Any]]:
        """The trace for these arguments, made if there is none, and the tensors among them."""
        with self._lock:
            if self.input_signature is not None and not args and not kwargs:
                args = self.input_signature
            bound = self._signature.bind(args, kwargs)
            described = self._signature.described(bound)
            type_ = type_of(described)
            with context.init_scope():
                outermost = context.current()
            where = outermost if isinstance(outermost, Graph) else None
            best: CallType | None = None  # of several that fit the most specific one
            for place, other in self._traces:
                if place is where and other.fits(type_) and (best is None or best.fits(other)):
                    best = other
            known = best and self._traces[where, best]
            return known or self._trace(where, type_, described), tensors_of(list(bound.values()))

    def _trace(self, where: Any, type_: CallType, described: Arguments) -> ConcreteFunction:
        if self._options["reduce_retracing"] and self.input_signature is None:
            type_ = type_.generalised(other for place, other in self._traces if place is where)
            left = iter(type_.shapes)
            described = nest.map_structure(
                lambda e: (
                    TensorSpec(next(left), e.dtype, e.name) if isinstance(e, TensorSpec) else e
                ),
                described,
            )
        self._count += 1
        graph = FuncGraph(self.name)
        given = self._signature.unbind(make_placeholders(graph, described))
        python = self.python_function
        with making_variables(allowed=self._may_make_variables) as made:
            converted = convert(python) if self._options["autograph"] else python
            trace(graph, converted, given.args, given.kwargs)
        concrete = ConcreteFunction(graph, self._attributes, described)
        if telling.listener is not None:
            telling.listener.function_traced(concrete.inference.name, concrete)
        self._may_make_variables = False
        if made:  # only the first trace may: calls go to another one, which finds them
            return self._trace(where, type_, described)
        self._traces[where, type_] = concrete
        return concrete

    def __getattr__(self, name: str) -> Any:
        return missing("tf.function", name)


PolymorphicFunction.__module__ = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
PolymorphicFunction.__name__ = PolymorphicFunction.__qualname__ = "Function"  # as it is printed


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_relax_shapes: bool = False,
) -> Any:
    """`tf.function`. NB: `jit_compile` is taken and changes nothing: there is no XLA here."""
    del jit_compile

    def decorate(python_function: Callable[..., Any]) -> PolymorphicFunction:
        return PolymorphicFunction(
            python_function,
            input_signature,
            autograph=autograph,
            reduce_retracing=bool(experimental_relax_shapes or reduce_retracing),
        )

    return decorate if func is None else decorate(func)
