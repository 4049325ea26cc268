"""What is known of shapes and values in a graph: the shape rules of all ops, node by node. See
`core/grappler/costs/graph_properties.cc`.

A dimension that is not known is a negative number here, and equal numbers are equal sizes: so passes
see that two tensors have the same shape although nobody knows which. NB: TensorFlow also learns that
two such sizes are equal from an op that wants them to be; here they stay different ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from tflogscope.runtime.core.definition import Endpoint, NodeDef
from tflogscope.runtime.core.dtypes import int32, resource
from tflogscope.runtime.core.known import known_value
from tflogscope.runtime.core.registry import lookup, registered
from tflogscope.runtime.core.shapes import SCALAR, UNKNOWN, TensorShape
from tflogscope.runtime.core.tensors import SymbolicTensor
from tflogscope.runtime.passes.graph import Graph, topological

_EVALUATED = frozenset(
    "Const Rank Size Shape ShapeN ConcatV2 Pack Identity Slice StridedSlice".split()
)
"""Grappler computes the values of these ops, and of no others."""


class _Known(SymbolicTensor):
    """An output of a node, as shape rules want to see it."""

    __slots__ = ()

    def __init__(self, op: Any, index: int, dtype: Any, shape: TensorShape, handle: Any) -> None:
        self.uid = id(self)
        self.op, self.value_index, self.dtype = op, index, dtype
        self._shape, self.handle_data = shape, handle


class _Op:
    """A node, as shape rules want to see it."""

    def __init__(self, type: str, inputs: list[_Known], attributes: Mapping[str, Any]) -> None:
        self.type = type if type in _EVALUATED else "?"
        self.inputs, self.attributes = inputs, attributes
        self.definition = lookup(type) if registered(type) else None
        self.outputs: list[_Known] = []


class Properties:
    """The shapes and values in a graph, as it is when this is made."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        order = topological(graph) or list(graph.nodes)
        self._tensors: dict[str, list[_Known]] = {}
        self._numbers = itertools.count(-2, -1)
        for name in order:
            self._tensors[name] = self._outputs(graph[name])

    def shape(self, endpoint: Endpoint) -> TensorShape:
        """What is known of that output's shape."""
        tensor = self._tensor(endpoint)
        return UNKNOWN if tensor is None else tensor.shape

    def value(self, endpoint: Endpoint) -> Any:
        """The array that it is, if that is known."""
        tensor = self._tensor(endpoint)
        return None if tensor is None or not tensor.dtype.is_array else known_value(tensor)

    def _tensor(self, endpoint: Endpoint) -> _Known | None:
        found = self._tensors.get(endpoint[0], ())
        return found[endpoint[1]] if endpoint[1] < len(found) else None

    def _outputs(self, node: NodeDef) -> list[_Known]:
        blank = _Known(None, -1, int32, UNKNOWN, None)
        given = [self._tensor(endpoint) for endpoint in node.inputs]
        inputs = [blank if each is None else each for each in given]
        op = _Op(node.type, inputs, node.attributes)
        specs = self._specs(node, op)
        for place, dtype in enumerate(node.dtypes):
            shape, handle = specs[place] if place < len(specs) else (UNKNOWN, None)
            if shape.dims is not None:
                dims = [next(self._numbers) if dim in {None, -1} else dim for dim in shape.dims]
                shape = TensorShape(dims)
            of = op
            if node.type == "ShapeN":
                of = _Op("Shape", [inputs[place]], node.attributes)
            op.outputs.append(_Known(of, place, dtype, shape, handle))
        return op.outputs

    def _specs(self, node: NodeDef, op: _Op) -> list[tuple[TensorShape, Any]]:
        inputs = op.inputs
        if node.type == "_Arg":
            handle = node.handle_data if node.dtypes[0] is resource else None
            return [(node.shape, handle)]  # NB: what is in a list that is passed gets lost
        if node.type == "Const":
            return [(TensorShape(np.shape(node.attributes["value"])), None)]
        if node.type == "Merge":
            return [
                (_common([each.shape for each in inputs]), inputs[0].handle_data),
                (SCALAR, None),
            ]
        if node.type in {"Switch", "Enter", "Identity", "Exit", "NextIteration"}:
            kept = node.type not in {"Exit", "NextIteration"}
            return [(inputs[0].shape, inputs[0].handle_data if kept else None)] * len(node.dtypes)
        if op.definition is None:
            return []
        try:
            found = [each[1:] for each in op.definition.infer(inputs, node.attributes)]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return []
        return [(each[0], each[1] if len(each) > 1 else None) for each in found]


def _common(shapes: list[TensorShape]) -> TensorShape:
    """What all have. NB: of what comes round a loop nothing is known yet."""
    if len({shape.rank for shape in shapes}) != 1 or shapes[0].dims is None:
        return UNKNOWN
    columns = zip(*(shape.dims or () for shape in shapes), strict=True)
    return TensorShape([each[0] if len(set(each)) == 1 else None for each in columns])


def same_shape(one: TensorShape, other: TensorShape) -> bool:
    """Do they have the same dimensions, of known or of equal unknown size?"""
    return one.dims is not None and one.dims == other.dims
