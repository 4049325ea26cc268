"""What a trace leaves behind: a function definition that no longer changes, ready to run many
times.

Tracing builds a graph of Python objects that may still grow when gradients are built on it. What
runs is a copy taken at the end of the trace: node definitions that refer to each other by name.
Told about: `FunctionDef` and `NodeDef` (protocol buffers) and `TF_GraphToFunction`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.operations import OpDef
from tflogscope.runtime.stacks import Frame

if TYPE_CHECKING:
    from tflogscope.runtime.graph import Graph, Node
    from tflogscope.runtime.shapes import TensorShape
    from tflogscope.runtime.tensors import HandleData, SymbolicTensor

__all__ = ["Endpoint", "FunctionDef", "NodeDef", "Origin", "define"]

Endpoint = tuple[str, int]
"""One output of a node: its name and which output."""


class Origin(NamedTuple):
    """What a node was called in the function that was traced, where in the user's program, and
    that function's name if the node was inlined since ("" if it was not).
    """

    name: str
    frames: tuple[Frame, ...]
    function: str = ""


@dataclass(frozen=True, slots=True)
class NodeDef:
    """A node: which op, from which endpoints, after which nodes."""

    name: str
    op: OpDef
    inputs: tuple[Endpoint, ...]
    control_inputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    device: str
    dtypes: tuple[DType, ...]
    """The dtypes of its outputs."""
    origin: Origin | None = None
    """None if it was made since, by a pass."""

    @property
    def type(self) -> str:
        """The op's type."""
        return self.op.type


@dataclass(slots=True, eq=False)
class FunctionDef:
    """A function: arguments, nodes, and which endpoints are its results.

    `nodes` are in the order in which they were traced; the arguments are not among them.
    `control_results` must run even if no result needs them. `plan` is the executor's: what it
    compiled this into.
    """

    name: str
    arguments: tuple[NodeDef, ...]
    nodes: tuple[NodeDef, ...]
    results: tuple[Endpoint, ...]
    control_results: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    plan: Any = None
    argument_types: tuple[tuple[TensorShape, HandleData | None], ...] = ()
    """What is known of the arguments: their shapes, and of resources what they lead to."""
    result_names: tuple[str, ...] = ()
    """What the results are called, if they have names: node_names.py."""
    prologue: tuple[NodeDef, ...] = ()
    """What the executor processes first, without a kernel of ours: `_SOURCE`, and arguments that
    are nodes (`_Arg`). Passes put them there.
    """

    @property
    def stateful(self) -> bool:
        """Is there a node that must not be dropped or run twice?"""
        return any(node.op.stateful or node.attributes.get("_stateful") for node in self.nodes)


def define(
    name: str,
    graph: Graph,
    inputs: Sequence[SymbolicTensor],
    outputs: Sequence[SymbolicTensor],
    attributes: Mapping[str, Any],
    control_outputs: Sequence[Node] = (),
) -> FunctionDef:
    """The definition of a function with these inputs and outputs, as the graph is now."""
    argument_nodes = {tensor.op.name for tensor in inputs}
    return FunctionDef(
        name,
        tuple(_node(tensor.op) for tensor in inputs),
        tuple(_node(node) for node in graph.nodes if node.name not in argument_nodes),
        tuple(_endpoint(tensor) for tensor in outputs),
        tuple(node.name for node in control_outputs),
        dict(attributes),
        argument_types=tuple((tensor.shape, tensor.handle_data) for tensor in inputs),
    )


def _endpoint(tensor: SymbolicTensor) -> Endpoint:
    return tensor.op.name, tensor.value_index


def _node(node: Node) -> NodeDef:
    return NodeDef(
        node.name,
        node.definition,
        tuple(_endpoint(tensor) for tensor in node.inputs),
        tuple(control.name for control in node.control_inputs),
        dict(node.attributes),
        node.device,
        tuple(tensor.dtype for tensor in node.outputs),
        Origin(node.name, node.frames),
    )
