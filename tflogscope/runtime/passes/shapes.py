"""Which shapes, and which values, are known of each output before the graph runs.

Shape functions are asked once per node, inputs first; around loops until nothing changes, an
output that differs between iterations being known as far as all agree. Which dimensions are the
same though nobody knows how large they are, is told by `numbering.py`.

Told about: `GraphProperties::InferStatically` of `core/grappler/costs/graph_properties.cc`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping, Sequence
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
from tflogscope.runtime.passes.numbering import NumberedShape, Numbers, is_number, numbers_of
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
    outputs: list[_Known] = field(default_factory=list)


class _Known(SymbolicTensor):
    """What is known of an output. It takes no uid: those count tensors that programs see."""

    __slots__ = ()

    def __init__(self, op: Any, value_index: int, dtype: DType, shape: TensorShape) -> None:
        self.uid = -1
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self._shape = shape
        self.handle_data = None

    def correct(self, shape: TensorShape) -> None:
        """Know it better."""
        self._shape = shape

    def with_only(self, number: int | None) -> _Known:
        """The same without the other numbers in its shape."""
        sizes = self._shape.sizes
        kept = sizes and [dim if dim == number or not _is_number(dim) else None for dim in sizes]
        other = _Known(self.op, self.value_index, self.dtype, TensorShape(kept))
        other.handle_data = self.handle_data
        return other


_Tensors = dict[str, list[_Known]]


class Properties:
    """What is known of a graph as it was when this was made."""

    def __init__(self, graph: MutableGraph) -> None:
        self._tensors: _Tensors = {}
        self._numbered: _Tensors = {}
        order = topological(graph) or list(graph.nodes)
        for name in order:
            self._tensors[name] = _outputs(graph[name], self._tensors, _EVALUATED)
        changed = deque(order if any(graph[name].type == "NextIteration" for name in order) else ())
        rounds = len(changed) * _ROUNDS
        while changed and rounds:
            rounds -= 1
            name = changed.popleft()
            before = [tensor.shape for tensor in self._tensors[name]]
            self._tensors[name] = _outputs(graph[name], self._tensors, _EVALUATED)
            if [tensor.shape for tensor in self._tensors[name]] != before:
                changed += [reader.name for reader in graph.readers(name)]
        if any(_has_gaps(tensor.shape) for each in self._tensors.values() for tensor in each):
            self._number([graph[name] for name in order])

    def _number(self, nodes: Sequence[Node]) -> None:
        """Number what is not known. What differs from one iteration to the next is no dimension
        that was there before.
        """
        differing: set[Endpoint] = set()
        while True:
            self._numbers, self._numbered = Numbers(), {}
            for node in nodes:
                self._numbered[node.name] = self._numbered_outputs(node, differing)
            found = {
                (node.name, axis)
                for node in nodes
                if node.type == "Merge"
                for axis in self._differing_axes(node)
            }
            if found <= differing:
                break
            differing |= found

    def _numbered_outputs(self, node: Node, differing: Container[Endpoint]) -> list[_Known]:
        numbers = self._numbers
        given = [_tensor(self._numbered, endpoint) for endpoint in node.inputs]
        inputs = [UNKNOWN if tensor is None else tensor.shape for tensor in given]
        axis = self.value(node.inputs[-1]) if node.type == "ConcatV2" else None
        numbers.unify(node.type, inputs, None if axis is None else int(axis))
        outputs = _outputs(node, self._numbered, _MOVED)
        guesses = [outputs]
        if any(output.shape.rank is None for output in outputs):  # it may have refused them
            guesses = [
                _outputs(node, self._with_only(node, number), _MOVED)
                for number in (*_numbers(inputs), None)
            ]
        for place, (output, known) in enumerate(
            zip(outputs, self._tensors[node.name], strict=True)
        ):
            guessed = [each[place].shape for each in guesses]
            shape = numbers.number(node.type, known.shape, inputs, guessed)
            if node.type == "Merge" and shape.rank:
                dims = enumerate(zip(known.shape, shape, strict=True))
                new = {
                    at for at, (size, _) in dims if size is None and (node.name, at) in differing
                }
                shape = TensorShape(
                    numbers.new() if at in new else dim for at, dim in enumerate(shape)
                )
            output.correct(shape)
        return outputs

    def _with_only(self, node: Node, number: int | None) -> _Tensors:
        """The node's inputs with all numbers but (perhaps) one left out: different ones need not
        go together (broadcasting), and none needs to with a size (an inner dimension of a product).
        """
        return {
            name: [tensor.with_only(number) for tensor in self._numbered[name]]
            for name, _ in node.inputs
            if name in self._numbered
        }

    def _differing_axes(self, node: Node) -> list[int]:
        given = [_tensor(self._numbered, endpoint) for endpoint in node.inputs]
        shapes = [tensor.shape for tensor in given if tensor is not None]
        if len({shape.rank for shape in shapes}) != 1 or not shapes[0].rank:
            return []
        columns = zip(*(map(self._numbers.found, shape) for shape in shapes), strict=True)
        return [axis for axis, column in enumerate(columns) if len(set(column)) > 1]

    def shape(self, endpoint: Endpoint) -> TensorShape:
        """The shape of that output, as far as it is known."""
        tensor, numbered = (_tensor(each, endpoint) for each in (self._tensors, self._numbered))
        if tensor is None:
            return UNKNOWN
        if numbered is None or not _has_gaps(tensor.shape):
            return tensor.shape
        return NumberedShape(tensor.shape, tuple(map(self._numbers.found, numbered.shape)))

    def value(self, endpoint: Endpoint) -> NDArray[Any] | None:
        """The value of that output, if it follows from constants; shapes of less than 17 numbers
        only, as nobody asks for others.
        """
        tensor = _tensor(self._tensors, endpoint)
        if tensor is None or not tensor.dtype.is_array:
            return None
        try:
            return folded_value(tensor)
        except (OpError, ValueError, TypeError, AttributeError):
            return None


def _tensor(tensors: _Tensors, endpoint: Endpoint) -> _Known | None:
    found = tensors.get(endpoint[0], ())
    return found[endpoint[1]] if endpoint[1] < len(found) else None


def _is_number(dim: int | None) -> bool:
    return dim is not None and is_number(dim)


def _numbers(shapes: Sequence[TensorShape]) -> set[int]:
    return {dim for shape in shapes if shape for dim in shape if _is_number(dim)}


def _has_gaps(shape: TensorShape) -> bool:
    return shape.rank is not None and not shape.is_fully_defined()


def _outputs(node: Node, tensors: _Tensors, evaluated: Container[str]) -> list[_Known]:
    """What its shape function says of the node's outputs."""
    try:
        definition = lookup(node.type)
    except NotInThisRuntime:
        definition = _OPAQUE
    seen = node.type in evaluated
    op = _Op(
        node.name, node.type if seen else "?", definition if seen else _OPAQUE, node.attributes
    )
    given = [_tensor(tensors, endpoint) for endpoint in node.inputs]
    op.inputs = [_blank() if tensor is None else tensor for tensor in given]
    specs = _specs(node, op, definition)
    for place, dtype in enumerate(node.dtypes):
        spec: tuple[Any, ...] = specs[place] if place < len(specs) else (dtype, UNKNOWN)
        of = _shape_op(op, place) if node.type == "ShapeN" else op
        tensor = _Known(of, place, dtype, spec[1])
        tensor.handle_data = next(iter(spec[2:]), None)
        op.outputs.append(tensor)
    return op.outputs


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
_MOVED = _EVALUATED - {"Pack"}
"""Through these a dimension of a shape stays the same one, though nobody knows it."""


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
    if node.type in {"Switch", "_SwitchN", "Enter", "Identity"}:
        source = op.inputs[0]
        return [(source.dtype, source.shape, source.handle_data)] * len(node.dtypes)
    if node.type in {"Exit", "NextIteration"}:  # `UnchangedShape`: what a handle leads to gets lost
        return [(op.inputs[0].dtype, op.inputs[0].shape)]
    if definition is _OPAQUE:
        return []
    try:
        return definition.infer(Inference(node.type, tuple(op.inputs), node.attributes))
    except (OpError, ArithmeticError, ValueError, TypeError, LookupError, AttributeError):
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
    """Are both known to be the same? Told about: `ShapesSymbolicallyEqual`."""
    numbers = numbers_of(one)
    return numbers is not None and numbers == numbers_of(other)
