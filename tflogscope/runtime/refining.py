"""Shape functions ask for the values of inputs; TensorFlow runs a graph of constants to know them.

What was computed, or read of a constant, is kept for the graph that is built, and is fed to later
runs. So a log has runs at step -1 while a function is traced. Values come from
`constant_value.folded_value`: here it is only told which nodes TensorFlow runs for them.

Told about: `ShapeRefiner::EvaluateConstantTensorForEdge` and `ConstantPartialShape` of
`core/common_runtime/shape_refiner.cc`, `ExtractConstantSubgraph` of `eval_const_tensor.cc`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.tensors import SymbolicTensor, Tensor
from tflogscope.runtime.traversal import inputs_first

if TYPE_CHECKING:
    from tflogscope.runtime.function.definition import Endpoint, NodeDef
    from tflogscope.runtime.graph import Node

__all__ = ["shape_asked", "value_asked"]

Value = NDArray[Any]
Fold = Callable[..., "Value | None"]  # of a tensor, and of what is known of others in its graph

_TOO_LARGE = 1024  # bytes that are worth keeping: `ShapeRefiner::kMaxTensorSize`


def value_asked(tensor: SymbolicTensor, fold: Fold) -> None:
    """A shape function asks for this value, which `fold` computes."""
    graph = getattr(tensor.op, "graph", None)
    if graph is None:  # a pass asks, not TensorFlow's shape refiner
        return
    known = graph.known_values
    key = _key(tensor)
    if key in known:
        return
    value = fold(tensor)
    if value is None:
        return
    if tensor.op.type != "Const" and not follows_from_shape(tensor):
        _tell(tensor, fold)
    if value.nbytes <= _TOO_LARGE:
        known[key] = value


def shape_asked(tensor: Tensor, fold: Fold) -> None:
    """A shape function asks what is known of the shape in this vector, after its value."""
    if not isinstance(tensor, SymbolicTensor) or not tensor.shape.rank or not tensor.shape[0]:
        return
    node = tensor.op
    if getattr(node, "graph", None) is None:
        return
    if node.type == "Pack":
        for source in node.inputs:
            _ask(source, fold)
    elif node.type == "Cast":
        shape_asked(node.inputs[0], fold)
    elif node.type == "ConcatV2":
        for source in node.inputs[:-1]:
            shape_asked(source, fold)
    elif node.type == "StridedSlice":
        _slice_asked(node, fold)
    elif node.type not in {"Shape", "ShapeN", "VariableShape"}:
        _ask(tensor, fold)


def _slice_asked(node: Node, fold: Fold) -> None:
    """Told about: `PartialStridedSliceShape`."""
    masks = node.attributes
    if any(source.shape.as_list() != [1] for source in node.inputs[1:4]):
        return
    if any(masks[f"{each}_mask"] for each in ("ellipsis", "new_axis", "shrink_axis")):
        return
    if masks["begin_mask"] not in {0, 1} or masks["end_mask"] not in {0, 1}:
        return
    if not masks["begin_mask"]:
        _ask(node.inputs[1], fold)
    if not masks["end_mask"]:
        _ask(node.inputs[2], fold)
    _ask(node.inputs[3], fold)
    shape_asked(node.inputs[0], fold)


def _ask(tensor: Tensor, fold: Fold) -> None:
    if isinstance(tensor, SymbolicTensor):
        value_asked(tensor, fold)


def follows_from_shape(tensor: SymbolicTensor) -> bool:
    """Told about: `TryInferFromShapes`, as far as these ops are used."""
    node = tensor.op
    if node.type == "Rank":
        return node.inputs[0].shape.rank is not None
    if node.type in {"Shape", "Size"}:
        return node.inputs[0].shape.is_fully_defined()
    return shape_element(tensor) is not None


def shape_element(tensor: SymbolicTensor) -> int | None:
    """The one dimension that this is, of a tensor of which perhaps not all are known."""
    node = tensor.op
    source = node.inputs[0] if node.inputs else None
    if not isinstance(source, SymbolicTensor) or source.op.type != "Shape":
        return None
    shape = source.op.inputs[0].shape
    at = _slice_index(tensor)
    if at is None or shape.rank is None or not -shape.rank <= at < shape.rank:
        return None
    dim: int | None = shape[at]
    return dim


def _slice_index(tensor: SymbolicTensor) -> int | None:
    """Told about: `GetSliceIndex`."""
    node = tensor.op
    if node.type == "Unpack":
        return tensor.value_index if node.attributes["axis"] == 0 else None
    if node.type != "StridedSlice" or node.attributes["shrink_axis_mask"] != 1:
        return None
    others = ("begin", "end", "ellipsis", "new_axis")
    if any(node.attributes[f"{each}_mask"] for each in others):
        return None
    begin = node.inputs[1]
    if begin.op.type != "Const":
        return None
    value = np.asarray(begin.op.attributes["value"])
    return int(value.ravel()[0]) if value.size == 1 else None


def _key(tensor: SymbolicTensor) -> Endpoint:
    return tensor.op.name, tensor.value_index


def _tell(target: SymbolicTensor, fold: Fold) -> None:
    """The run for this value: what is known is fed, what is not is run as well."""
    from tflogscope.runtime.graph_runner import tell_run

    known = target.graph.known_values
    copied: dict[str, Node] = {target.op.name: target.op}
    fed: dict[Endpoint, SymbolicTensor] = {}
    edges = list(target.op.inputs)
    for source in edges:  # the list grows
        if source.op.name in copied or _key(source) in fed:
            continue
        at_hand = _key(source) in known or source.op.type == "_Arg"  # its caller's value
        if at_hand or follows_from_shape(source):
            fed[_key(source)] = source
        else:
            copied[source.op.name] = source.op
            edges += source.op.inputs
    order = list(inputs_first([target.op], lambda node: node.name in copied))
    found: dict[Any, Value] = {}
    values = {node.name: [fold(output, found) for output in node.outputs] for node in order}
    inputs = [
        (key, tensor.dtype, fold(tensor, found))
        for key, tensor in fed.items()
        if key[0] not in copied
    ]
    nodes = [_definition(node) for node in order]
    tell_run(getattr(target.graph, "name", ""), inputs, nodes, values, [_key(target)])


def _definition(node: Node) -> NodeDef:
    from tflogscope.runtime.function.definition import NodeDef

    return NodeDef(
        node.name,
        node.definition,
        tuple(_key(source) for source in node.inputs),
        (),
        node.attributes,
        "",
        tuple(output.dtype for output in node.outputs),
    )
