"""TensorFlow 1: a graph that the program builds itself, and a `Session` that runs parts of it.

What a session runs is a function like any other: the fed tensors are its arguments, the fetched
ones its results, and what neither needs is pruned. Variables are resources of the session, found by
their names.

Told about: `python/client/session.py`, `core/common_runtime/direct_session.cc`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from tflogscope.runtime import context, executor, nest, resources, telling
from tflogscope.runtime.dtypes import DType, as_dtype, float32
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.function.concrete import ConcreteFunction
from tflogscope.runtime.function.definition import FunctionDef, define
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.function.tracing import trace
from tflogscope.runtime.graph import Graph, Node
from tflogscope.runtime.library import graphs, grouping, random
from tflogscope.runtime.ops.call import call, call_node
from tflogscope.runtime.ops.references import dereferenced
from tflogscope.runtime.passes.functions import SESSION_FUNCTION
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import SymbolicTensor, Tensor
from tflogscope.runtime.variables import Variable

__all__ = [
    "GradientDescentOptimizer", "Session", "disable_eager_execution", "get_default_graph",
    "get_variable", "global_variables_initializer", "placeholder", "set_random_seed",
    "wrap_function",
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


# Variables


class _RefVariable(Variable):
    """What `use_resource=False` gives: its handle is a reference to the value. It is read once, and
    the graph uses that: `NAME/read`.
    """

    def _set_handle(self, shape: TensorShape, dtype: DType, scope: str) -> None:
        # NB: TensorFlow's node finds its value by its own name, and `shared_name` stays empty
        shared = self._name
        self.handle = call("VariableV2", shape=shape, dtype=dtype, shared_name=shared, name=scope)
        self._shape, self._dtype = shape, dtype

    def _initialize(self, value: Tensor, *, validate_shape: bool) -> None:
        self._initializer = call_node(
            "Assign", self.handle, value, name="Assign", validate_shape=validate_shape
        )
        self._snapshot = call("Identity", self.handle, name="read")
        self.graph_element = self.handle
        self._collect()

    def value(self) -> Tensor:
        """The value, as `NAME/read` gives it."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """The value, read once more."""
        return call("Identity", self.handle, name="read")

    def assign(
        self, value: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Give it this value; gives a reference to it."""
        return self._change("Assign", value, use_locking, name, read_value=read_value)

    def assign_add(
        self, delta: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add this to its value."""
        return self._change("AssignAdd", delta, use_locking, name, read_value=read_value)

    def assign_sub(
        self, delta: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Take this from its value."""
        return self._change("AssignSub", delta, use_locking, name, read_value=read_value)

    def _change(
        self, op: str, value: Any, use_locking: Any, name: str | None, *, read_value: bool
    ) -> Any:
        reference = call(op, self.handle, value, use_locking=bool(use_locking), name=name)
        return reference if read_value else reference.op  # type: ignore[attr-defined]


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = float32,
    initializer: Callable[..., Any] | None = None,
    trainable: bool = True,
    use_resource: bool = True,
) -> Variable:
    """A new variable, drawn as Glorot says unless there is an initializer.

    NB: variables are not shared: a name that is there already gets a number.
    """
    dims: Any = TensorShape(shape).as_list()
    wanted = as_dtype(dtype)
    kind = Variable if use_resource else _RefVariable
    return kind(
        lambda: (initializer or _glorot_uniform)(dims, wanted),
        name=name,
        trainable=trainable,
        dtype=wanted,
        shape=dims,
    )


def _glorot_uniform(shape: Sequence[int], dtype: DType) -> Tensor:
    if len(shape) < 2:
        fans = [(shape or [1])[0]] * 2
    else:
        window = math.prod(shape[:-2])
        fans = [window * shape[-2], window * shape[-1]]
    limit = math.sqrt(6.0 / max(2.0, sum(fans)))
    return random.uniform(shape, -limit, limit, dtype)


def global_variables_initializer() -> Node:
    """A node that gives all variables their first values."""
    variables = get_default_graph().collections.get("variables", [])
    node: Node = grouping.group(*[each.initializer for each in variables], name="init")
    return node


# Running


class Session:
    """Runs parts of a graph; keeps the values of its variables."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        del target, config
        self.graph = graph or get_default_graph()
        self._resources: dict[str, resources.Resource] = {}
        self._definitions: dict[Any, FunctionDef] = {}

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """The values of tensors and variables, None for nodes, in the structure of `fetches`.

        Raises OpError if a kernel does: InvalidArgumentError for a placeholder without a value.
        """
        if options is not None or run_metadata is not None:
            raise NotInThisRuntime("Session.run with options or run_metadata")
        fed = dict(feed_dict or {}) if not feed_dict else _by_tensor(feed_dict)
        wanted = [_fetched(each) for each in nest.flatten(fetches)]
        tensors = [each for each in wanted if isinstance(each, Tensor)]
        definition = self._definition([tensor for tensor, _ in fed.values()], tensors, wanted)
        values = [np.asarray(value, tensor.dtype.as_numpy_dtype) for tensor, value in fed.values()]
        with resources.of_session(self._resources):
            results = (_plain(each) for each in executor.run(definition, values))
        return nest.pack_sequence_as(
            fetches, [next(results) if isinstance(each, Tensor) else None for each in wanted]
        )

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
            self._definitions[key] = replace(definition, result_names=names)
        return self._definitions[key]

    def close(self) -> None:
        """Forget the variables."""
        self._resources.clear()

    def __enter__(self) -> Self:
        _entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _entered.remove(self)
        self.close()


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


SymbolicTensor.eval = evaluate  # type: ignore[attr-defined]


def _plain(value: Any) -> Any:
    """The value of a reference; a scalar is not left in an array."""
    value = dereferenced(value)
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


def _by_tensor(feed_dict: Any) -> dict[int, tuple[Any, Any]]:
    """Tensors are no keys that can be compared."""
    return {tensor.uid: (tensor, value) for tensor, value in feed_dict.items()}


def _fetched(value: Any) -> Any:
    return value.graph_element if isinstance(value, Variable) else value


class GradientDescentOptimizer:
    """`tf.compat.v1.train.GradientDescentOptimizer`."""

    def __init__(self, learning_rate: float) -> None:
        self._learning_rate = learning_rate

    def minimize(self, loss: Tensor) -> Node:
        """A node that takes one step."""
        variables = [
            each for each in get_default_graph().collections["variables"] if each.trainable
        ]
        gradients = graphs.gradients(loss, variables, gate_gradients=True)
        with context.name_scope("GradientDescent") as scope:
            rate = call("Const", value=np.float32(self._learning_rate), dtype=float32,
                        name="learning_rate")  # fmt: skip
            updates = []
            for variable, gradient in zip(variables, gradients, strict=True):
                with context.name_scope(f"update_{variable.name.partition(':')[0]}"):
                    kind = "" if isinstance(variable, _RefVariable) else "Resource"
                    op = f"{kind}ApplyGradientDescent"
                    updates.append(call_node(op, variable.handle, rate, gradient))
            node: Node = grouping.group(*updates, name=scope)
        return node


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
