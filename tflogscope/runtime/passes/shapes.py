"""What is known of shapes in a graph: the shape rules of all ops, node by node. See
`core/grappler/costs/graph_properties.cc`. NB: TensorFlow gives a size that is not known a number of
its own; here two sizes that nobody knows count as the same one.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tflogscope.runtime.core.definition import Endpoint, NodeDef
from tflogscope.runtime.core.dtypes import int32
from tflogscope.runtime.core.registry import registered
from tflogscope.runtime.core.shapes import UNKNOWN, TensorShape
from tflogscope.runtime.core.tensors import SymbolicTensor
from tflogscope.runtime.passes.graph import Graph, topological

_HANDS_ON = frozenset({"Switch", "Enter", "Identity"})


class Properties:
    """The shapes in a graph, as it is when this is made."""

    def __init__(self, graph: Graph) -> None:
        self._tensors: dict[str, list[SymbolicTensor]] = {}
        for name in topological(graph):
            self._tensors[name] = self._outputs(graph[name])

    def shape(self, endpoint: Endpoint) -> TensorShape:
        """What is known of that output's shape."""
        found: TensorShape = self._tensor(endpoint).shape
        return found

    def same_shape(self, one: Endpoint, other: Endpoint) -> bool:
        """Have they the same dimensions?"""
        dims = self.shape(one).dims
        return dims is not None and dims == self.shape(other).dims

    def _tensor(self, endpoint: Endpoint) -> SymbolicTensor:
        found = self._tensors.get(endpoint[0], ())
        if endpoint[1] < len(found):
            return found[endpoint[1]]
        return SymbolicTensor(None, -1, int32, UNKNOWN)  # it comes round a loop, or is new

    def _outputs(self, node: NodeDef) -> list[SymbolicTensor]:
        op: Any = SimpleNamespace(type=node.type, attributes=node.attributes)
        op.inputs = [self._tensor(endpoint) for endpoint in node.inputs]
        specs = self._specs(node, op.inputs)
        outputs = []
        for place, dtype in enumerate(node.dtypes):
            shape, handle = specs[place] if place < len(specs) else (UNKNOWN, None)
            outputs.append(SymbolicTensor(op, place, dtype, shape))
            outputs[-1].handle_data = handle
        return outputs

    @staticmethod
    def _specs(node: NodeDef, inputs: list[SymbolicTensor]) -> list[tuple[TensorShape, Any]]:
        if node.type == "_Arg":
            return [(node.shape, node.handle_data)]
        if not registered(node.type):
            return []
        try:
            found = node.definition.infer(inputs, node.attributes)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return []
        handles = [each[2] if len(each) > 2 else None for each in found]
        if node.type in _HANDS_ON:
            handles = [inputs[0].handle_data] * len(found)
        return [(each[1], handle) for each, handle in zip(found, handles, strict=True)]
