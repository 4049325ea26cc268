"""`tf.function`. See `tensorflow/python/eager/polymorphic_function/polymorphic_function.py`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tflogscope.runtime import executor
from tflogscope.runtime.core import context
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.definition import define
from tflogscope.runtime.core.errors import missing
from tflogscope.runtime.core.tensors import EagerTensor, uid
from tflogscope.runtime.function.autograph.conversion import convert
from tflogscope.runtime.function.compiler import Compiler
from tflogscope.runtime.function.concrete import ConcreteFunction
from tflogscope.runtime.function.variables import Lifting, lifted


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
        self.input_signature = input_signature
        self._options = {"autograph": autograph, "reduce_retracing": reduce_retracing}
        self._attributes = dict(attributes or {})
        self._first: Compiler | None = None
        self._compiler: Compiler | None = None
        self._methods: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _Mode.eagerly:
            return self.python_function(*args, **kwargs)
        if self._first is None:
            self._initialise(args, kwargs)
        return self._chosen()(*args, **kwargs)

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
        if self._first is None:
            self._initialise(args, kwargs)
        return self._chosen().concrete(args, kwargs)[0]

    def experimental_get_tracing_count(self) -> int:
        return sum(each.tracing_count for each in (self._first, self._compiler) if each)

    def _initialise(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """The first trace: variables may be made in it. If some are, all calls go to another trace, in
        which none may.
        """
        lifting = Lifting(allowed=True)
        self._first = self._make_compiler(lifting)
        try:
            self._first.concrete(args, kwargs)
        except BaseException:
            self._first = None
            raise
        lifting.allowed = False
        if lifting.created:
            self._compiler = self._make_compiler(Lifting(allowed=False))
        if lifting.initial:
            _initialise(lifting.initial)

    def _chosen(self) -> Compiler:
        chosen = self._compiler or self._first
        assert chosen is not None
        return chosen

    def _make_compiler(self, lifting: Lifting) -> Compiler:
        return Compiler(
            self.python_function,
            self.name,
            self.input_signature,
            self._attributes,
            convert=convert if self._options["autograph"] else lambda function: function,
            reduce_retracing=self._options["reduce_retracing"],
            around=lambda: lifted(lifting),
        )

    def __getattr__(self, name: str) -> Any:
        return missing("tf.function", name)


PolymorphicFunction.__module__ = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
PolymorphicFunction.__name__ = PolymorphicFunction.__qualname__ = "Function"  # as it is printed


def _initialise(initial: Sequence[tuple[Any, Any]]) -> None:
    """Assign the first values: what they are made of runs as a function. NB: TensorFlow traces a
    function that initialises them, and the first trace initialises under a condition as well.
    """
    graph = initial[0][1].op.graph
    inputs = graph.internal_captures
    name = f"__inference_initialize_variables_{uid()}"
    lifted = define(name, graph.nodes, inputs, [value for _, value in initial])
    given = [getattr(each, "value", None) for each in graph.external_captures]
    with context.init_scope():
        values = executor.run(lifted, given)
        for (variable, tensor), value in zip(initial, values, strict=True):
            O.AssignVariableOp(variable.handle, EagerTensor(value, tensor.dtype))


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
