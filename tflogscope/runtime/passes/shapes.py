"""Which shapes, and which values, are known of each output before the graph runs.

Shape functions are asked once per node, inputs first; around loops until nothing changes, an
output that differs between iterations being known as far as all agree.

Told about: `GraphProperties::InferStatically` of `core/grappler/costs/graph_properties.cc`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import folded_value
from tflogscope.runtime.dtypes import DType, int32
from tflogscope.runtime.errors import NotInThisRuntime, OpError
from tflogscope.runtime.function.definition import Endpoint
from tflogscope.runtime.operations import Inference, OpDef, lookup
from tflogscope.runtime.passes.graph import MutableGraph, Node, topological
from tflogscope.runtime.shapes import UNKNOWN, TensorShape
from tflogscope.runtime.tensors import HandleData, SymbolicTensor

__all__ = ["Properties", "same_shape"]

_ROUNDS = 5


@dataclass(slots=True, eq=False)
class _Op:
    """As much of a graph's node as a shape function asks for."""

    name: str
    type: str
    definition: OpDef
    attributes: Mapping[str, Any]
    inputs: list[SymbolicTensor] = field(default_factory=list)
    outputs: list[SymbolicTensor] = field(default_factory=list)


class _Known(SymbolicTensor):
    """What is known of an output. It takes no number: those count tensors that programs see."""

    __slots__ = ()

    def __init__(self, op: Any, value_index: int, dtype: DType, shape: TensorShape) -> None:
        self.uid = -1
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self._shape = shape
        self.handle_data = None


class Properties:
    """What is known of a graph as it was when this was made."""

    def __init__(self, graph: MutableGraph) -> None:
        self._tensors: dict[str, list[SymbolicTensor]] = {}
        order = topological(graph) or list(graph.nodes)
        for name in order:
            self._infer(graph[name])
        changed = deque(order if any(graph[name].type == "NextIteration" for name in order) else ())
        rounds = len(changed) * _ROUNDS
        while changed and rounds:
            rounds -= 1
            name = changed.popleft()
            before = [tensor.shape for tensor in self._tensors.get(name, ())]
            self._infer(graph[name])
            if [tensor.shape for tensor in self._tensors.get(name, ())] != before:
                changed += [reader.name for reader in graph.readers(name)]

    def shape(self, endpoint: Endpoint) -> TensorShape:
        """The shape of that output, as far as it is known."""
        tensor = self._tensor(endpoint)
        return UNKNOWN if tensor is None else tensor.shape

    def value(self, endpoint: Endpoint) -> NDArray[Any] | None:
        """The value of that output, if it follows from constants; shapes of less than 17 numbers
        only, as nobody asks for others.
        """
        tensor = self._tensor(endpoint)
        if tensor is None or not tensor.dtype.is_array:
            return None
        try:
            return folded_value(tensor)
        except (OpError, ValueError, TypeError, AttributeError):
            return None

    def _tensor(self, endpoint: Endpoint) -> SymbolicTensor | None:
        tensors = self._tensors.get(endpoint[0], ())
        return tensors[endpoint[1]] if endpoint[1] < len(tensors) else None

    def _infer(self, node: Node) -> None:
        try:
            definition = lookup(node.type)
        except NotInThisRuntime:
            definition = _OPAQUE
        seen = node.type in _EVALUATED
        op = _Op(
            node.name, node.type if seen else "?", definition if seen else _OPAQUE, node.attributes
        )
        known = [self._tensor(endpoint) for endpoint in node.inputs]
        op.inputs = [_blank() if tensor is None else tensor for tensor in known]
        specs = _specs(node, op, definition)
        op.outputs = []
        for place, dtype in enumerate(node.dtypes):
            spec: tuple[Any, ...] = specs[place] if place < len(specs) else (dtype, UNKNOWN)
            of = _shape_op(op, place) if node.type == "ShapeN" else op
            tensor = _Known(of, place, dtype, spec[1])
            tensor.handle_data = next(iter(spec[2:]), None)
            op.outputs.append(tensor)
        self._tensors[node.name] = op.outputs


_OPAQUE = OpDef("?", lambda _: [], lambda: None, stateful=True)
_EVALUATED = frozenset(
    {
        "Const",
        "Rank",
        "Size",
        "Shape",
        "ShapeN",
        "ConcatV2",
        "Pack",
        "Identity",
        "Slice",
        "StridedSlice",
    }
)
"""NB: values are followed through these ops only, though constant folding can run all."""


def _shape_op(op: _Op, place: int) -> _Op:
    """One of several shapes, as if it were asked for alone."""
    return _Op(op.name, "Shape", lookup("Shape"), op.attributes, [op.inputs[place]])


def _blank() -> SymbolicTensor:
    return _Known(None, -1, int32, UNKNOWN)


def _specs(node: Node, op: _Op, definition: OpDef) -> Sequence[Any]:
    """Dtype, shape and perhaps handle data of each output."""
    if node.type == "_Arg":
        return [(node.dtypes[0], _argument_shape(node), node.handles)]
    if node.type == "Const":
        return [(node.dtypes[0], TensorShape(np.shape(node.attributes["value"])))]
    if node.type == "Merge":
        return _merged(node, op)
    if node.type in {"Switch", "_SwitchN", "Enter", "Exit", "NextIteration", "Identity"}:
        source = op.inputs[0]
        return [(source.dtype, source.shape, source.handle_data)] * len(node.dtypes)
    if definition is _OPAQUE:
        return []
    try:
        return definition.infer(Inference(node.type, tuple(op.inputs), node.attributes))
    except (OpError, ValueError, TypeError, KeyError, IndexError, AttributeError):
        return []


def _argument_shape(node: Node) -> TensorShape:
    shapes = node.attributes.get("_output_shapes")
    return TensorShape(shapes[0]) if shapes else UNKNOWN


def _merged(node: Node, op: _Op) -> Sequence[Any]:
    known = [source for source in op.inputs if source.value_index >= 0]
    if not known:
        return []
    shape = known[0].shape
    for source in known[1:]:
        shape = _agreed(shape, source.shape)
    handles: HandleData | None = known[0].handle_data
    dtype: DType = node.dtypes[0]
    return [(dtype, shape, handles), (int32, TensorShape([]))]


def _agreed(one: TensorShape, other: TensorShape) -> TensorShape:
    """What holds for both."""
    if one.rank is None or other.rank is None or one.rank != other.rank:
        return UNKNOWN
    pairs = zip(one.as_list(), other.as_list(), strict=True)
    return TensorShape([a if a == b else None for a, b in pairs])


def same_shape(one: TensorShape, other: TensorShape) -> bool:
    """Are both known to be the same? NB: TensorFlow can tell for dimensions that are not known,
    too, where the one follows from the other.
    """
    return one.is_fully_defined() and one == other
