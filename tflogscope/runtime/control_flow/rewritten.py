"""Nodes of the forward pass that a gradient changes after the fact: they get outputs, and inputs,
more.

Told about: `_add_outputs`, `_add_while_inputs` of `ops.Operation`; `resource_input_index` of
`control_flow_util_v2.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.graph import Node
from tflogscope.runtime.tensors import SymbolicTensor

__all__ = ["extend_outputs", "resource_input"]


def extend_outputs(node: Node, inner: Sequence[SymbolicTensor]) -> None:
    """Gives the node outputs for those of its function that it has none for yet."""
    outputs = list(node.outputs)  # a tape may hold the list as it was
    for tensor in inner[len(outputs) :]:
        output = SymbolicTensor(node, len(outputs), tensor.dtype, tensor.shape)
        output.handle_data = tensor.handle_data
        outputs.append(output)
    node.outputs = outputs


def resource_input(tensor: SymbolicTensor, graph: FuncGraph) -> int:
    """Which input of the graph a resource comes from: functions do not make resources. Raises
    ValueError if one did.
    """
    while True:
        for index, candidate in enumerate(graph.inputs):
            if candidate is tensor:
                return index
        tensor = _origin(tensor)


def _origin(tensor: SymbolicTensor) -> SymbolicTensor:
    node, index = tensor.op, tensor.value_index
    if node.type in {"Identity", "While", "StatelessWhile"}:
        return node.inputs[index]
    if node.type in {"PartitionedCall", "StatefulPartitionedCall"}:
        inner = node.attributes["f"]
        return node.inputs[resource_input(inner.outputs[index], inner.graph)]
    if node.type in {"If", "StatelessIf"}:
        inner = node.attributes["then_branch"]
        return node.inputs[1 + resource_input(inner.outputs[index], inner.graph)]
    raise ValueError(
        "Taking gradient of a while loop which creates a resource in its body is not supported: "
        f"{node.name} ({node.type})"
    )
