"""`tf.function`: a Python function that becomes a graph for each type of arguments it is called
with.

The first call is special, since it may create variables. It is traced with variable creation
allowed; if variables were created, their first values are computed outside the function
(lifting.py), and the function is traced a second time, now without creation: that trace is what is
called from then on. So a function that creates variables is traced twice.

Told about: `eager/polymorphic_function/polymorphic_function.py`.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tflogscope.runtime import context
from tflogscope.runtime.function.compiler import TracingCompiler
from tflogscope.runtime.function.concrete import ConcreteFunction
from tflogscope.runtime.function.lifting import (
    NotLiftable,
    UnliftedVariable,
    call_with_condition,
    initialise,
)
from tflogscope.runtime.function.retracing import FrequentTracingDetector
from tflogscope.runtime.function.signature import Signature
from tflogscope.runtime.variables import creator_scope

__all__ = ["PolymorphicFunction", "function", "functions_run_eagerly", "run_functions_eagerly"]

_detectors: weakref.WeakKeyDictionary[Any, FrequentTracingDetector] = weakref.WeakKeyDictionary()


class _Mode:
    eagerly = False


def run_functions_eagerly(run_eagerly: bool) -> None:
    """`tf.config.run_functions_eagerly`: from now on, calling a function runs its Python code as it
    is.
    """
    _Mode.eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Do functions run as Python code?"""
    return _Mode.eagerly


class PolymorphicFunction:
    """What `tf.function` returns."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str | None = None,
        input_signature: Sequence[Any] | None = None,
        *,
        autograph: bool = True,
        reduce_retracing: bool = False,
        jit_compile: bool | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Raises TypeError if the input signature does not fit the function."""
        self.python_function = python_function
        self.name = name or str(getattr(python_function, "__name__", "function"))
        self.__name__ = self.name
        self.__doc__ = getattr(python_function, "__doc__", None) or ""
        self.__module__ = getattr(python_function, "__module__", __name__)
        self.__wrapped__ = python_function
        self._signature = Signature(python_function, input_signature)
        self.input_signature = self._signature.input_signature
        self._autograph = autograph
        self._reduce_retracing = reduce_retracing
        self._jit_compile = jit_compile
        # NB: TensorFlow gives such a function to the XLA compiler; here it gets the mark and runs
        # as one unit of nodes.
        self._attributes = dict(attributes or {}) | (
            {} if jit_compile is None else {"_XlaMustCompile": jit_compile}
        )
        self._lock = threading.RLock()
        self._created: list[weakref.ref[Any]] | None = None
        """The variables that its first trace created; None before that."""
        self._creating: TracingCompiler | None = None
        self._not_creating: TracingCompiler | None = None
        self._first: ConcreteFunction | None = None
        self._methods: weakref.WeakKeyDictionary[Any, PolymorphicFunction] = (
            weakref.WeakKeyDictionary()
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it: by a trace made before, or a new one.

        Raises TypeError for arguments that don't fit, ValueError for variables created on a later
        call, and OpError.
        """
        if _Mode.eagerly:
            return self.python_function(*args, **kwargs)
        before = self.experimental_get_tracing_count()
        result = self._call(args, kwargs)
        if context.executing_eagerly():
            detector = self._detector()
            if self.experimental_get_tracing_count() == before:
                detector.not_traced()
            else:
                detector.traced(self.python_function, quiet=False)
        return result

    def __get__(self, instance: Any, owner: Any) -> PolymorphicFunction:
        """As a method: each instance has a function of its own, which does not keep the instance
        alive.
        """
        if instance is None:
            return self
        if instance not in self._methods:
            bound = WeakMethod(self.python_function, instance)
            self._methods[instance] = self._clone(bound)
        return self._methods[instance]

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for these arguments, made if need be; a TensorSpec stands for any tensor that
        fits it.
        """
        with self._lock:
            if self._created is None:
                initialisers: list[Any] = []
                self._initialise(args, kwargs, initialisers)
                if initialisers:
                    initialise(initialisers)
            compiler = self._not_creating if self._created else self._creating
            assert compiler is not None
            return compiler.get_concrete_function(*args, **kwargs)

    def experimental_get_tracing_count(self) -> int:
        """How often it was traced."""
        return sum(
            compiler.tracing_count for compiler in (self._creating, self._not_creating) if compiler
        )

    @property
    def function_spec(self) -> Signature:
        """Its parameters."""
        return self._signature

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """All traces with the types of their arguments."""
        joiner = "\n\n" if verbose else "\n"
        return joiner.join(each.pretty_printed_signature(verbose=verbose) for each in self.traces())

    def traces(self) -> list[ConcreteFunction]:
        """All traces."""
        return [
            each
            for compiler in (self._creating, self._not_creating)
            if compiler
            for each in compiler.traces()
        ]

    def _call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if self._created:
            assert self._not_creating is not None
            return self._not_creating(*args, **kwargs)
        if self._creating is not None:
            result = self._creating(*args, **kwargs)
            if self._created:
                raise ValueError(
                    "Creating variables on a non-first call to a function decorated with "
                    "tf.function."
                )
            return result
        initialisers: list[Any] = []
        with self._lock:
            tensors = self._initialise(args, kwargs, initialisers)
        assert self._first is not None
        if not self._created:
            # As in TensorFlow the arguments are bound, and values converted, once more.
            bound = self._signature.bind(args, kwargs)
            tensors = self._signature.type(bound).tensors(bound)
            return self._first.call_flat(tensors, self._first.captured_inputs)
        try:
            initialise(initialisers)
        except NotLiftable:
            return call_with_condition(
                initialisers, self._without_creation, self._first, args, kwargs, tensors
            )
        return self._without_creation(*args, **kwargs)

    def _without_creation(self, *args: Any, **kwargs: Any) -> Any:
        assert self._not_creating is not None
        return self._not_creating(*args, **kwargs)

    def _initialise(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], initialisers: list[Any]
    ) -> list[Any]:
        """The first trace; the tensors among the arguments."""
        created: list[weakref.ref[Any]] = []

        def create(next_creator: Callable[..., Any], **arguments: Any) -> Any:
            if context.inside_function():
                variable = UnliftedVariable(initialisers=initialisers, **arguments)
            else:  # in `init_scope`: nothing to lift, but the function has created it all the same
                variable = next_creator(**arguments)
            variable.plain = False
            created.append(weakref.ref(variable))
            return variable

        def refuse(*_: Any, **__: Any) -> Any:
            raise ValueError(
                "tf.function only supports singleton tf.Variables created on the first call. Make "
                "sure the tf.Variable is only created once or created outside tf.function. See "
                "https://www.tensorflow.org/guide/function#creating_tfvariables for more "
                "information."
            )

        self._creating = self._compiler(create)
        if self.input_signature is not None and not args and not kwargs:
            args = self.input_signature
        try:
            self._first, tensors = self._creating.concrete(args, kwargs)
        except BaseException:
            self._creating = None
            raise
        self._created = created
        self._not_creating = self._compiler(refuse)
        return tensors

    def _compiler(self, creator: Callable[..., Any]) -> TracingCompiler:
        """A compiler that traces the function with this say over the variables it creates."""
        return TracingCompiler(
            self.python_function,
            self.name,
            self.input_signature,
            self._attributes,
            autograph=self._autograph,
            reduce_retracing=self._reduce_retracing,
            around=lambda: creator_scope(creator),
        )

    def _clone(self, python_function: Callable[..., Any]) -> PolymorphicFunction:
        return PolymorphicFunction(
            python_function,
            self.name,
            self.input_signature,
            autograph=self._autograph,
            reduce_retracing=self._reduce_retracing,
            jit_compile=self._jit_compile,
            attributes=self._attributes,
        )

    def _detector(self) -> FrequentTracingDetector:
        """Counted together are all functions made of the same code: `tf.function` in a loop is one
        of the causes.
        """
        key = getattr(self.python_function, "__code__", self)
        if key not in _detectors:
            _detectors[key] = FrequentTracingDetector()
        return _detectors[key]


# As TensorFlow 2.13 calls it: a newcomer should find the text.
PolymorphicFunction.__module__ = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
PolymorphicFunction.__name__ = PolymorphicFunction.__qualname__ = "Function"


class WeakMethod:
    """A method of an object that it does not keep alive."""

    def __init__(self, function: Callable[..., Any], instance: Any) -> None:
        self.function = function
        self.instance = weakref.ref(instance)
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__signature__ = inspect.signature(function.__get__(instance))
        self.__code__ = getattr(function, "__code__", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.resolve()(*args, **kwargs)

    def resolve(self) -> Callable[..., Any]:
        """The method; its `self` is None if the object is gone."""
        instance = self.instance()
        if instance is None:
            return partial(self.function, None)
        return self.function.__get__(instance)  # type: ignore[no-any-return]


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Mapping[str, Any] | None = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """`tf.function`, as a decorator or with the function as its argument."""
    del experimental_autograph_options, experimental_follow_type_hints
    attributes = dict(experimental_attributes or {})
    if experimental_implements is not None:
        attributes["_implements"] = experimental_implements

    def decorate(python_function: Callable[..., Any]) -> PolymorphicFunction:
        return PolymorphicFunction(
            python_function,
            None,
            input_signature,
            autograph=autograph,
            jit_compile=experimental_compile if jit_compile is None else jit_compile,
            reduce_retracing=bool(experimental_relax_shapes or reduce_retracing),
            attributes=attributes,
        )

    return decorate if func is None else decorate(func)
