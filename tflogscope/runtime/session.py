"""TensorFlow 1 at its simplest: placeholders, variables, gradient descent, `Session.run`. See
`tensorflow/python/client/session.py`, `core/common_runtime/direct_session.cc`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from tflogscope.runtime import executor
from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.context import op_scope
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import as_dtype, float32
from tflogscope.runtime.core.errors import NotInThisRuntime, missing
from tflogscope.runtime.core.graph import Graph, Node, control_dependencies, define
from tflogscope.runtime.core.shapes import UNKNOWN, TensorShape
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.function.backprop import gradients_of
from tflogscope.runtime.function.concrete import ConcreteFunction
from tflogscope.runtime.function.func_graph import FuncGraph, trace
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.library import random
from tflogscope.runtime.ops.state import of_session


def disable_eager_execution() -> None:
    if context.executing_eagerly():
        context.make_default(Graph())


def get_default_graph() -> Any:
    if context.executing_eagerly():
        raise NotInThisRuntime("tf.compat.v1.get_default_graph() of an eager program")
    return context.current()


def set_random_seed(seed: int) -> None:
    get_default_graph().seed = seed


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Any:
    return O.Placeholder(dtype=as_dtype(dtype), shape=TensorShape(shape), name=name)


# -- variables


def get_variable(
    name: str, shape: Any = None, dtype: Any = float32, initializer: Any = None, **_: Any
) -> Any:
    """A variable of that name; its first value is `glorot_uniform`'s unless an initialiser is given.

    NB: it is a resource, even if `use_resource` is False.
    """
    dims, make = TensorShape(shape), initializer or _glorot_uniform
    first = (lambda: make(dims.as_list(), dtype=dtype)) if callable(make) else make
    with context.name_scope(None):
        return Variable(first, name=name, dtype=dtype)


def _glorot_uniform(shape: Any, dtype: Any) -> Any:
    fields = int(np.prod(shape[:-2]))
    fans = [fields * each for each in (shape[-2:] if len(shape) > 1 else [*shape, *shape])]
    limit = float(np.sqrt(6.0 / sum(fans)))
    return random.uniform(shape, -limit, limit, dtype)


def global_variables() -> list[Any]:
    return list(get_default_graph().collections.get("variables", []))


def global_variables_initializer() -> Node:
    return _group([each.initializer for each in global_variables()], "init")


def _group(nodes: list[Any], name: str) -> Node:
    with op_scope(name, "group_deps") as scope, control_dependencies(nodes):
        O.NoOp(name=scope)
        found: Node = context.current().nodes[-1]
        return found


class GradientDescentOptimizer:
    """`tf.compat.v1.train.GradientDescentOptimizer`."""

    def __init__(self, learning_rate: Any, *_: Any, name: str = "GradientDescent") -> None:
        self._rate, self._name = learning_rate, name

    def minimize(self, loss: Any) -> Node:
        variables = get_default_graph().collections["trainable_variables"]
        gradients = gradients_of(loss.graph, [loss], [each.handle for each in variables])
        with context.name_scope(self._name) as scope:
            rate = convert_to_tensor(self._rate, name="learning_rate")
            updates = []
            for gradient, variable in zip(gradients, variables, strict=True):
                if gradient is not None:
                    with context.name_scope(f"update_{variable.name.partition(':')[0]}"):
                        given = (variable.handle, rate, convert_to_tensor(gradient))
                        O.ResourceApplyGradientDescent(*given)
                    updates.append(context.current().nodes[-1])
            return _group(updates, scope)


# -- running


class Session:
    """Runs parts of a graph. It keeps the values of variables."""

    def __init__(self, target: str = "", graph: Any = None, config: Any = None) -> None:
        self.graph = graph or get_default_graph()
        self._resources: dict[str, Any] = {}
        self._definitions: dict[Any, Any] = {}

    def run(self, fetches: Any, feed_dict: Any = None, **others: Any) -> Any:
        if any(each is not None for each in others.values()):
            raise NotInThisRuntime("Session.run with options or run_metadata")
        fed, values = [], []
        for key, given in (feed_dict or {}).items():
            fed.append(_fetched(key))
            values.append(np.asarray(given, fed[-1].dtype.as_numpy_dtype))
        wanted = [_fetched(each) for each in nest.flatten(fetches)]
        definition = self._definition(fed, wanted)
        with of_session(self._resources):
            results = iter(executor.run(definition, values))
        found = [next(results)[()] if isinstance(each, Tensor) else None for each in wanted]
        return nest.pack_sequence_as(fetches, found)

    def _definition(self, fed: list[Any], wanted: list[Any]) -> Any:
        key = (*(each.name for each in fed), "", *(e.name for e in wanted), len(self.graph.nodes))
        if key not in self._definitions:
            tensors = [each for each in wanted if isinstance(each, Tensor)]
            nodes = [each for each in wanted if isinstance(each, Node)]
            made = define("session", self.graph.nodes, fed, tensors, nodes)
            for node in made.of_type("_Arg"):  # optimizers don't rely on the shapes of what is fed
                node.shape = UNKNOWN
            self._definitions[key] = made
        return self._definitions[key]

    def __enter__(self) -> Self:
        self._entered = context.enter(self.graph)
        self._entered.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._entered.__exit__(None, None, None)

    def __getattr__(self, name: str) -> Any:
        return missing("tf.compat.v1.Session", name)


def _fetched(value: Any) -> Any:
    return value.graph_element if isinstance(value, Variable) else value


def wrap_function(python_function: Callable[..., Any], signature: Any) -> Any:
    """A function of a graph of TensorFlow 1. NB: its control flow is functional here."""
    graph = FuncGraph("wrapped_function")
    trace(graph, python_function, tuple(signature), orders_effects=False)
    return ConcreteFunction(graph)
