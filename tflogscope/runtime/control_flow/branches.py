"""What conditionals and loops have in common: functions as attributes of a node, traced in the name
scope of that node.

Told about: `python/ops/control_flow_util_v2.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime import context, tape
from tflogscope.runtime.control_flow import functional_ops  # noqa: F401 - registers If, While, Case
from tflogscope.runtime.function.control_dependencies import (
    READ_ONLY,
    is_stateful,
    read_only_inputs,
)
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.function.graph_function import GraphFunction
from tflogscope.runtime.function.tracing import trace
from tflogscope.runtime.library import arrays
from tflogscope.runtime.tensors import EagerTensor, Tensor, uid

__all__ = [
    "BranchGraph",
    "as_function",
    "captured_inputs",
    "function_name",
    "gradient_name",
    "has_stateful",
    "output_node",
    "read_only",
    "scalar",
    "through_function",
    "trace_branch",
]

_WRAPPER = "cflow_gradient_wrapper"


class BranchGraph(FuncGraph):
    """The graph of a branch or of a part of a loop: its nodes are named within the scope in which
    it is made, but for TensorFlow 1's graphs.
    """

    is_while_body = False

    def __init__(self, name: str) -> None:
        super().__init__(name)
        with context.init_scope():
            outside_is_eager = context.executing_eagerly()
        if outside_is_eager:
            self.scope_name = context.current_scope()


def trace_branch(
    graph: FuncGraph,
    python_function: Callable[..., Any],
    args: Sequence[Any] = (),
    *,
    op_return_value: Tensor | None = None,
) -> FuncGraph:
    """Trace it; its stateful ops are kept in order if those around it are."""
    return trace(
        graph,
        python_function,
        args,
        control_dependencies=getattr(context.current(), "orders_effects", False),
        op_return_value=op_return_value,
    )


def function_name(scope: str, part: str) -> str:
    """`cond_true_12`: for a branch of the node of that scope."""
    return f"{scope}{part}_{uid()}".replace("/", "_")


def gradient_name(forward: str) -> str:
    """The name of the gradient of that branch."""
    return f"{forward}_grad_{uid()}"


def as_function(graph: FuncGraph) -> GraphFunction:
    """A function of the graph as it is now."""
    return GraphFunction(graph.name, graph, graph.inputs, graph.outputs)


def has_stateful(*graphs: FuncGraph) -> bool:
    """Is there a stateful op in one of them?"""
    return any(node.definition.stateful for graph in graphs for node in graph.nodes)


def must_run(*graphs: FuncGraph) -> bool:
    """The same, but for the ops that are free to be dropped. `Case` asks this, `If` and `While` the
    other.
    """
    return any(is_stateful(node) for graph in graphs for node in graph.nodes)


def scalar(condition: Tensor) -> Tensor:
    """A condition of one element as a scalar."""
    return condition if condition.shape.rank == 0 else arrays.squeeze(condition)


def read_only(graphs: Sequence[FuncGraph], first: int) -> dict[str, Any]:
    """The attribute that says which inputs of the node (they begin after `first` others) are
    resources only read.
    """
    common = set.intersection(*(set(read_only_inputs(graph)) for graph in graphs))
    return {READ_ONLY: tuple(sorted(index + first for index in common))}


def captured_inputs(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The inputs of the node as tensors of the graph it is made in, with the names that TensorFlow
    gives captures of them.
    """
    graph: Any = context.current()
    return [
        graph.capture(tensor, f"input_{at}") if isinstance(tensor, EagerTensor) else tensor
        for at, tensor in enumerate(tensors)
    ]


def output_node(op: Any) -> Any:
    """The node of an op that a gradient function was given."""
    return op.outputs[0].op


def through_function(
    make: Callable[[Sequence[Tensor]], list[Any]], inputs: Sequence[Tensor]
) -> list[Any]:
    """What `make(inputs)` gives; by a call of a function if a gradient of a gradient may be asked
    for.

    A tape records the node as it is, while the gradient changes the node; a function around it
    keeps both apart. Told about: `run_as_function_for_tape_gradients`.
    """
    graph: Any = context.current()
    if tape.could_record(inputs) == 2 and _WRAPPER not in getattr(graph, "name", ""):
        from tflogscope.runtime.function.polymorphic import PolymorphicFunction

        return list(PolymorphicFunction(make, _WRAPPER, autograph=False)(list(inputs)))
    return make(inputs)
