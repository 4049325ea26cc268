"""`tf.function`: a Python function is traced once for each type of its arguments. A tensor's is its
dtype and shape; a Python value's is the value itself; an object's is its identity. See
`polymorphic_function.py`, `tracing_compilation.py` of `tensorflow/python/eager/polymorphic_function/`,
`core/function/trace_type/` and `core/function/polymorphism/function_type.py`.
"""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.core.errors import missing
from tflogscope.runtime.core.graph import Graph
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.core.tensors import Tensor, TensorSpec
from tflogscope.runtime.function.autograph.conversion import convert
from tflogscope.runtime.function.concrete import ConcreteFunction
from tflogscope.runtime.function.func_graph import (
    Arguments,
    FuncGraph,
    cast,
    make_placeholders,
    tensors_of,
    trace,
)
from tflogscope.runtime.function.variables import Variable, making_variables


@dataclass(frozen=True, slots=True)
class CallType:
    """The type of a call: what is the same in all calls of a trace, and the shapes of the tensors."""

    structure: Any
    shapes: tuple[TensorShape, ...]

    def fits(self, other: CallType) -> bool:
        """Does a function that was traced for this type do for the other one, too?"""
        return self.structure == other.structure and all(
            theirs.is_subtype_of(own) for own, theirs in zip(self.shapes, other.shapes, strict=True)
        )

    def generalised(self, others: Iterable[CallType]) -> CallType:
        """The type with shapes that are those of all."""
        shapes = self.shapes
        for other in others:
            if other.structure == self.structure:
                pairs = zip(shapes, other.shapes, strict=True)
                shapes = tuple(a.most_specific_compatible_shape(b) for a, b in pairs)
        return CallType(self.structure, shapes)


def type_of(described: Arguments) -> CallType:
    """The type of a call. Raises TypeError for what can't be compared."""
    shapes: list[TensorShape] = []
    handles: list[int] = []

    def walk(value: Any) -> Any:
        if isinstance(value, TensorSpec):
            shapes.append(value.shape)
            return TensorSpec, value.dtype
        if isinstance(value, Variable):  # which of the different ones in this call counts, too
            uid = value.handle.uid
            handles.extend([] if uid in handles else [uid])
            return value.dtype, value.shape, bool(value.trainable), handles.index(uid)
        if hasattr(value, "composite"):
            return value.composite()[0]
        if nest.is_nested(value):
            keys = tuple(sorted(value)) if isinstance(value, Mapping) else ()
            return keys or type(value), tuple(walk(each) for each in nest.children(value))
        try:
            return weakref.ref(value)
        except TypeError:
            hash(value)
            return value

    structure = tuple(described), tuple(walk(each) for each in described.values())
    return CallType(structure, tuple(shapes))


class Signature:
    """The parameters of a Python function, and what they are to be."""

    def __init__(self, function: Callable[..., Any], input_signature: Sequence[Any] | None) -> None:
        self._signature = inspect.signature(function)
        self.fixed: Arguments = {}
        if input_signature is not None:
            self.fixed = self.bind(input_signature, {})

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arguments:
        """The arguments by name; `*args` have numbers behind it."""
        found = self._signature.bind(*args, **kwargs)
        found.apply_defaults()
        bound: Arguments = {}
        for name, each in self._signature.parameters.items():
            value = found.arguments[name]
            if each.kind is each.VAR_POSITIONAL:
                bound |= {f"{name}_{at}": item for at, item in enumerate(value)}
            else:
                bound |= (
                    dict(sorted(value.items())) if each.kind is each.VAR_KEYWORD else {name: value}
                )
        bound = {n: cast(self.fixed[n], e) if n in self.fixed else e for n, e in bound.items()}
        arrays = (np.ndarray, np.generic)
        return nest.map_structure(lambda e: constant(e) if isinstance(e, arrays) else e, bound)  # type: ignore[no-any-return]

    def unbind(self, bound: Arguments) -> inspect.BoundArguments:
        """The arguments as the function takes them."""
        given: Any = {}
        rest = dict(bound)
        for name, each in self._signature.parameters.items():
            if each.kind is each.VAR_POSITIONAL:
                given[name] = [rest.pop(key) for key in list(rest) if key.startswith(f"{name}_")]
            else:
                given[name] = rest if each.kind is each.VAR_KEYWORD else rest.pop(name)
        return inspect.BoundArguments(self._signature, given)


def _spec(value: Any) -> Any:
    return TensorSpec(value.shape, value.dtype) if isinstance(value, Tensor) else value


_mode = {"eagerly": False}


def run_functions_eagerly(run_eagerly: bool) -> None:
    """`tf.config.run_functions_eagerly`: from now on run the Python functions themselves."""
    _mode["eagerly"] = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    return _mode["eagerly"]


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
        if _mode["eagerly"]:
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
            described = nest.map_structure(_spec, bound) | self._signature.fixed
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

            def leaf(e: Any) -> Any:
                return TensorSpec(next(left), e.dtype, e.name) if isinstance(e, TensorSpec) else e

            described = {name: nest.map_structure(leaf, e) for name, e in described.items()}
        self._count += 1
        graph = FuncGraph(self.name)
        given = self._signature.unbind(make_placeholders(graph, described))
        with making_variables(allowed=self._may_make_variables) as made:
            converts = convert if self._options["autograph"] else lambda python: python
            trace(graph, converts(self.python_function), given.args, given.kwargs)
        concrete = ConcreteFunction(graph, self._attributes, described)
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
    reduces = reduce_retracing or experimental_relax_shapes  # its name until 2.9
    options: Any = {"autograph": autograph, "reduce_retracing": reduces}
    decorate: Any = functools.partial(
        PolymorphicFunction, input_signature=input_signature, **options
    )
    return decorate if func is None else decorate(func)
