"""The graph of a function once it is traced: what passes rewrite and the executor runs. See
`FunctionDef` and `NodeDef` of `core/framework/function.proto`, `node_def.proto`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tflogscope.runtime.core.dtypes import DType
from tflogscope.runtime.core.registry import OpDef, lookup
from tflogscope.runtime.core.shapes import UNKNOWN, TensorShape
from tflogscope.runtime.core.tensors import HandleData

Endpoint = tuple[str, int]
"""An output: the node's name and which."""


@dataclass(slots=True, eq=False)
class NodeDef:
    """A node. Its type and edges change as passes rewrite the graph."""

    name: str
    type: str
    inputs: list[Endpoint] = field(default_factory=list)
    controls: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    device: str = ""
    dtypes: tuple[DType, ...] = ()
    shape: TensorShape = UNKNOWN
    """What is known of an `_Arg`'s shape."""
    handle_data: HandleData | None = None
    """What a handle leads to, and what a list holds, that this node gives."""

    @property
    def definition(self) -> OpDef:
        return lookup(self.type)

    def copy(self, name: str) -> NodeDef:
        """Another node like it."""
        inputs, controls, attributes = list(self.inputs), list(self.controls), dict(self.attributes)
        return replace(self, name=name, inputs=inputs, controls=controls, attributes=attributes)


@dataclass(slots=True, eq=False)
class FunctionDef:
    """A function: `_Arg` nodes, what computes, `_Retval` nodes."""

    name: str
    nodes: list[NodeDef]
    must_run: tuple[str, ...] = ()
    """Nodes with side effects, which run whether or not a result needs them."""
    attributes: dict[str, Any] = field(default_factory=dict)
    plan: Any = None
    """How it runs, once the executor has made it ready."""

    def of_type(self, type: str) -> list[NodeDef]:
        """The nodes of that type, by their index: the arguments or the results."""
        found = [node for node in self.nodes if node.type == type]
        return sorted(found, key=lambda node: node.attributes["index"])

    @property
    def stateful(self) -> bool:
        """Does it do more than compute?"""
        return any(
            node.attributes.get("_stateful", node.definition.stateful) for node in self.nodes
        )


def define(
    name: str,
    nodes: Iterable[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    must_run: Sequence[Any] = (),
    attributes: dict[str, Any] | None = None,
) -> FunctionDef:
    """The function of a graph's nodes, from these of its tensors to those. A placeholder that is an
    input becomes an `_Arg`.
    """
    places = {id(tensor.op): index for index, tensor in enumerate(inputs)}
    made = [_argument(tensor, index) for index, tensor in enumerate(inputs)]
    made += [_node(node) for node in nodes if id(node) not in places]
    taken = {node.name for node in made}
    for index, tensor in enumerate(outputs):
        label = f"{tensor.op.name}_retval"
        while label in taken:
            label += "_"
        taken.add(label)
        source = (tensor.op.name, tensor.value_index)
        made.append(NodeDef(label, "_Retval", [source], [], {"T": tensor.dtype, "index": index}))
    return FunctionDef(name, made, tuple(node.name for node in must_run), attributes or {})


def _argument(tensor: Any, index: int) -> NodeDef:
    kept = {key: value for key, value in tensor.op.attributes.items() if key.startswith("_")}
    kept |= {"T": tensor.dtype, "index": index}
    found = NodeDef(tensor.op.name, "_Arg", attributes=kept, dtypes=(tensor.dtype,))
    found.shape, found.handle_data = tensor.shape, tensor.handle_data
    return found


def _node(node: Any) -> NodeDef:
    inputs = [(tensor.op.name, tensor.value_index) for tensor in node.inputs]
    controls = [control.name for control in node.control_inputs]
    found = NodeDef(node.name, node.type, inputs, controls, dict(node.attributes), node.device)
    found.dtypes = tuple(tensor.dtype for tensor in node.outputs)
    found.handle_data = next((t.handle_data for t in node.outputs if t.handle_data), None)
    return found
