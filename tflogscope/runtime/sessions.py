"""TensorFlow 1: a graph that the program builds itself, and a `Session` that runs parts of it.

What a session runs is a function like any other: the fed tensors are its arguments, the fetched
ones its results, and what neither needs is pruned. Variables are resources of the session, found by
their names.

Told about: `python/client/session.py`, `core/common_runtime/direct_session.cc`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from tflogscope.runtime import context, executor, nest, resources, telling
from tflogscope.runtime.dtypes import as_dtype
from tflogscope.runtime.errors import NotInThisRuntime, OpError
from tflogscope.runtime.executor.failing import explained, failed_node
from tflogscope.runtime.function.concrete import ConcreteFunction
from tflogscope.runtime.function.definition import FunctionDef, define
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.function.tracing import trace
from tflogscope.runtime.graph import Graph, Node
from tflogscope.runtime.library import grouping, random
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.references import dereferenced
from tflogscope.runtime.passes.functions import SESSION_FUNCTION
from tflogscope.runtime.shapes import UNKNOWN, TensorShape
from tflogscope.runtime.tensors import SymbolicTensor, Tensor
from tflogscope.runtime.variables import Variable

__all__ = [
    "ConfigProto", "InteractiveSession", "Session", "disable_eager_execution", "get_default_graph",
    "global_variables", "global_variables_initializer", "placeholder", "placeholder_with_default",
    "reset_default_graph", "run_node", "set_random_seed", "trainable_variables", "wrap_function",
]  # fmt: skip


def disable_eager_execution() -> None:
    """From now on ops are nodes of a graph. Raises ValueError within a function."""
    if context.executing_eagerly():
        context.make_default(Graph())


def get_default_graph() -> Graph:
    """The graph that ops are added to. Raises NotInThisRuntime while they run eagerly."""
    graph = context.current()
    if not isinstance(graph, Graph):
        raise NotInThisRuntime("tf.compat.v1.get_default_graph() of an eager program")
    return graph


def reset_default_graph() -> None:
    """Begin with an empty graph; eagerly nothing. Raises AssertionError within another graph."""
    if context.executing_eagerly():
        return
    try:
        context.make_default(Graph())
    except ValueError:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared "
            "graph, exit the nesting and create a new graph."
        ) from None


def set_random_seed(seed: int) -> None:
    """The seed of the graph, or of all eager random ops."""
    if context.executing_eagerly():
        random.set_seed(seed)
    else:
        get_default_graph().seed = seed


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor that `Session.run` must be given a value for. Raises RuntimeError eagerly."""
    if context.executing_eagerly():
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    result: Tensor = call("Placeholder", dtype=as_dtype(dtype), shape=TensorShape(shape), name=name)
    return result


def placeholder_with_default(value: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor that has this value unless `Session.run` is given another."""
    result: Tensor = call("PlaceholderWithDefault", value, shape=TensorShape(shape), name=name)
    return result


# Variables


def global_variables() -> list[Variable]:
    """All variables of the graph."""
    return list(get_default_graph().collections.get("variables", []))


def trainable_variables() -> list[Variable]:
    """Those that optimizers change."""
    return list(get_default_graph().collections.get("trainable_variables", []))


def global_variables_initializer() -> Node:
    """A node that gives all variables their first values."""
    node: Node = grouping.group(*[each.initializer for each in global_variables()], name="init")
    return node


# Running


class Session:
    """Runs parts of a graph; keeps the values of its variables."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        del target, config
        self.graph = graph or get_default_graph()
        self._resources: dict[str, resources.Resource] = {}
        self._definitions: dict[Any, FunctionDef] = {}
        self._closed = False

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """The values of tensors and variables, None for nodes, in the structure of `fetches`.

        Raises OpError if a kernel does: InvalidArgumentError for a placeholder without a value;
        ValueError for names of nothing, for what is of another graph, and for values of a wrong
        shape; RuntimeError if it was closed.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if options is not None or run_metadata is not None:
            raise NotInThisRuntime("Session.run with options or run_metadata")
        fed = self._fed(feed_dict or {})
        wanted = [self._fetched(each) for each in nest.flatten(fetches)]
        tensors = [each for each in wanted if isinstance(each, Tensor)]
        definition = self._definition([tensor for tensor, _ in fed], tensors, wanted)
        values = [value for _, value in fed]
        with resources.of_session(self._resources):
            results = map(_plain, self._computed(definition, values))
        return nest.pack_sequence_as(
            fetches, [next(results) if isinstance(each, Tensor) else None for each in wanted]
        )

    def _computed(self, definition: FunctionDef, values: list[Any]) -> list[Any]:
        try:
            return executor.run(definition, values)
        except OpError as error:
            error.op = failed_node(error.message, self.graph)
            error.node_def = None if error.op is None else error.op.node_def
            error.message = explained(error.message, self.graph)
            raise

    def _fed(self, feed_dict: Any) -> list[tuple[Any, Any]]:
        fed = []
        for key, given in feed_dict.items():
            tensor = self._fetched(key)
            value = np.asarray(given, tensor.dtype.as_numpy_dtype)
            if not tensor.shape.is_compatible_with(value.shape):
                raise ValueError(
                    f"Cannot feed value of shape {value.shape} for Tensor {tensor.name}, which has "
                    f"shape {tensor.shape}"
                )
            fed.append((tensor, value))
        return fed

    def _fetched(self, value: Any) -> Any:
        """The tensor or the node that is meant by it, its name or a variable."""
        if isinstance(value, Variable):
            value = value.graph_element
        if isinstance(value, str):
            value = _named(self.graph, value)
        node = value.op if isinstance(value, SymbolicTensor) else value
        if isinstance(node, Node) and node.graph is not self.graph:
            of = "Tensor" if node is not value else "Operation"
            raise ValueError(
                f"Argument `fetch` = {value} cannot be interpreted as a {of}. "
                f"({of} {value} is not an element of this graph.)"
            )
        return value

    def _definition(self, fed: list[Any], tensors: list[Any], wanted: list[Any]) -> FunctionDef:
        nodes = [each for each in wanted if isinstance(each, Node)]
        key = (
            *(each.name for each in fed), "->", *(each.name for each in (*tensors, *nodes)),
            len(self.graph.nodes),
        )  # fmt: skip
        if key not in self._definitions:
            definition = define(
                "session", self.graph, fed, tensors, {SESSION_FUNCTION: True}, nodes
            )
            names = tuple(f"_retval_{each.op.name}_0_{at}" for at, each in enumerate(tensors))
            # optimizers do not rely on the shapes of what is fed: `assume_valid_feeds`
            types = tuple((UNKNOWN, handle) for _, handle in definition.argument_types)
            self._definitions[key] = replace(definition, result_names=names, argument_types=types)
        return self._definitions[key]

    def make_callable(self, fetches: Any, feed_list: Any = None) -> Callable[..., Any]:
        """A function of the values of `feed_list` that runs them."""
        fed = list(feed_list or ())

        def run(*values: Any) -> Any:
            if len(values) != len(fed):
                raise ValueError(
                    f"Expected {len(fed)} feed values. Received {len(values)} feed values."
                )
            return self.run(fetches, dict(zip(fed, values, strict=True)))

        return run

    def close(self) -> None:
        """Forget the variables."""
        self._closed = True
        self._resources.clear()

    def __enter__(self) -> Self:
        self._default = self.as_default()
        self._default.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._default.__exit__(*error)  # type: ignore[arg-type]
        self.close()

    @contextmanager
    def as_default(self) -> Iterator[Self]:
        """Makes it what `eval` of tensors asks, and its graph the current one."""
        _entered.append(self)
        try:
            with context.enter(self.graph):
                yield self
        finally:
            _entered.remove(self)


class InteractiveSession(Session):
    """A session that is the default one from the start until it is closed."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._entered = self.as_default()
        self._entered.__enter__()

    def close(self) -> None:
        """Forget the variables, and be the default no more."""
        if not self._closed:
            self._entered.__exit__(None, None, None)
        super().close()


class ConfigProto:
    """Options of a session: none of them means anything here."""

    def __init__(self, **options: Any) -> None:
        self.gpu_options = SimpleNamespace()
        self.graph_options = SimpleNamespace()
        vars(self).update(options)


_entered: list[Session] = []


def get_default_session() -> Session | None:
    """The session of the innermost `with`, or None."""
    return _entered[-1] if _entered else None


def evaluate(tensor: Any, feed_dict: Any = None, session: Session | None = None) -> Any:
    """`tensor.eval()`: its value in the session. Raises ValueError if there is none."""
    session = session or get_default_session()
    if session is None:
        raise ValueError(
            "Cannot evaluate tensor using `eval()`: No default session is registered. Use `with "
            "sess.as_default()` or pass an explicit session to `eval(session=sess)`"
        )
    return session.run(tensor, feed_dict)


def run_node(node: Node, feed_dict: Any = None, session: Session | None = None) -> None:
    """`operation.run()`. Raises ValueError if there is no session."""
    session = session or get_default_session()
    if session is None:
        raise ValueError(
            "Cannot execute operation using `run()`: No default session is registered. Use `with "
            "sess.as_default():` or pass an explicit session to `run(session=sess)`"
        )
    session.run(node, feed_dict)


SymbolicTensor.eval = Variable.eval = evaluate  # type: ignore[attr-defined]


def _plain(value: Any) -> Any:
    """The value of a reference; a scalar is not left in an array."""
    value = dereferenced(value)
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


def _named(graph: Graph, name: str) -> Any:
    node, _, index = name.partition(":")
    try:
        return graph.get_tensor_by_name(name) if index else graph.get_operation_by_name(node)
    except KeyError:
        kind, exists = ("Tensor", "does not exist") if index else ("Operation", "not in the graph.")
        why = (
            f"The name '{name}' refers to a {kind} which {exists}. The operation, '{node}', does "
            "not exist in the graph."
            if index
            else f"The name '{name}' refers to an {kind} {exists}"
        )
        raise ValueError(
            f'Argument `fetch` = {name} cannot be interpreted as a Tensor. ("{why}")'
        ) from None


def wrap_function(python_function: Callable[..., Any], signature: Any) -> Any:
    """`tf.compat.v1.wrap_function`: the function traced at once, without AutoGraph and without
    keeping stateful ops in order. Its results are what it returns, not copies of it.
    """
    graph = FuncGraph("wrapped_function")
    trace(graph, python_function, tuple(signature), control_dependencies=False)
    concrete = ConcreteFunction(graph)
    if telling.listener is not None:
        telling.listener.function_traced(concrete.inference.name, concrete)
    return concrete
