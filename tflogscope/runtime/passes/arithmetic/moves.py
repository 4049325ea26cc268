"""What only moves or converts values: transposes, reshapes, casts, stacks and slices.

Ops that undo each other go, those that another op can do itself become part of it, and casts that
make values larger come as late as possible.
"""

from __future__ import annotations

import numpy as np

from tflogscope.runtime.dtypes import DType, int32
from tflogscope.runtime.function.definition import Endpoint
from tflogscope.runtime.passes.arithmetic.stage import Work
from tflogscope.runtime.passes.graph import Node
from tflogscope.runtime.passes.shapes import same_shape

__all__ = [
    "ELEMENTWISE",
    "cast_later",
    "cast_to_same",
    "conjugate_into_transpose",
    "multiply_by_ones",
    "pack_of_equals",
    "reshape_for_nothing",
    "slice_of_stack",
    "transpose_into_matmul",
    "transposed_back",
    "twice_the_same",
    "undone",
]

_TRANSPOSES = frozenset({"Transpose", "ConjugateTranspose"})
_SAME_VALUES = frozenset({"Identity", "StopGradient", "PreventGradient", "Snapshot", "DeepCopy"})
_SAME_ORDER = _SAME_VALUES | {"ExpandDims", "Reshape", "Squeeze"}
_MOVES = (
    _SAME_ORDER
    | {"InvertPermutation", "ReverseV2", "Roll", "Transpose"}
    | {*("DepthToSpace", "SpaceToDepth", "BatchToSpaceND", "SpaceToBatchND")}
)
_UNDOES_ITSELF = frozenset({"Conj", "Invert", "Neg", "LogicalNot", "Reciprocal"})
_CASTS = frozenset({"Cast", "Bitcast", "Angle", "Imag", "Real", "IsFinite", "IsInf", "IsNan"})
_IDEMPOTENT = _SAME_VALUES - {"Identity"} | {"Identity"}
ELEMENTWISE = (
    frozenset(
        {
            *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Bitcast", "Ceil", "Cast"),
            *("ComplexAbs", "Conj", "Cos", "Cosh", "Digamma", "Elu", "Erf", "Erfc", "Exp", "Expm1"),
            *("Floor", "Inv", "Invert", "IsInf", "IsNan", "IsFinite", "Lgamma", "Log", "Log1p"),
            *("LogicalNot", "Neg", "Reciprocal", "Relu", "Relu6", "Rint", "Round", "Selu", "Rsqrt"),
            *(
                "Sigmoid",
                "Sign",
                "Sin",
                "Sinh",
                "Softplus",
                "Softsign",
                "Sqrt",
                "Square",
                "Tan",
                "Tanh",
            ),
        }
    )
    | _SAME_VALUES
)
"""Each element by itself, and in its place: the shape stays (`IsUnaryElementWise`)."""


def conjugate_into_transpose(work: Work, node: Node) -> Endpoint | None:
    """The conjugate of a transpose is one op."""
    if node.type not in _TRANSPOSES | {"Conj"}:
        return None
    name, source = work.name(node, "FoldConjugateIntoTranspose"), work.graph.source(node, 0)
    transpose, conjugate = (source, node) if node.type == "Conj" else (node, source)
    if name in work.graph or transpose.type not in _TRANSPOSES or conjugate.type != "Conj":
        return None
    new = transpose.copy(name)
    new.type = "ConjugateTranspose" if transpose.type == "Transpose" else "Transpose"
    new.inputs[0] = source.inputs[0]
    work.graph.add(new)
    work.wait_as(new, node, source)
    return name, 0


def transpose_into_matmul(work: Work, node: Node) -> Endpoint | None:
    """A product takes its factors transposed, if it is told."""
    batch = node.type in {"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}
    if not batch and node.type not in {"MatMul", "SparseMatMul"}:
        return None
    name = work.name(node, "FoldTransposeIntoMatMul")
    if name in work.graph or work.kept(node):
        return None
    fitting = _TRANSPOSES
    if node.dtypes[0].is_complex:
        fitting = frozenset({"ConjugateTranspose"} if batch else {"Transpose"})
    flags = ("adj_x", "adj_y") if batch else ("transpose_a", "transpose_b")
    sources = [work.graph.source(node, place) for place in range(2)]
    folded = [each.type in fitting and _swaps_last_two(work, each) for each in sources]
    if not any(folded):
        return None
    new = node.copy(name)
    for place in range(2):
        if folded[place]:
            new.attributes[flags[place]] = not new.attributes.get(flags[place], False)
            new.inputs[place] = sources[place].inputs[0]
    work.graph.add(new)
    work.wait_as(new, *(each for each, fold in zip(sources, folded, strict=True) if fold))
    return name, 0


def _swaps_last_two(work: Work, transpose: Node) -> bool:
    order = work.constant_value(transpose.inputs[1])
    if order is None or len(order) < 2:
        return False
    rank = len(order)
    return list(order) == [*range(rank - 2), rank - 1, rank - 2]


def transposed_back(work: Work, node: Node) -> Endpoint | None:
    """A transpose of a transpose that undoes it, and one that moves nothing."""
    if node.type not in _TRANSPOSES:
        return None
    first, order = work.graph.source(node, 0), work.constant_value(node.inputs[1])
    if order is None:
        return None
    if first.type != node.type:
        moves = any(at != place for place, at in enumerate(order))
        return None if moves or node.type != "Transpose" else node.inputs[0]
    before = work.constant_value(first.inputs[1])
    if before is None or len(before) != len(order):
        return None
    return first.inputs[0] if np.array_equal(order[before], np.arange(len(order))) else None


def undone(work: Work, node: Node) -> Endpoint | None:
    """−(−x) is x."""
    if node.type not in _UNDOES_ITSELF:
        return None
    source = work.graph.source(node, 0)
    tail = node
    while source.type in _MOVES and not work.kept(source) and work.only_reader(source):
        tail, source = source, work.graph.source(source, 0)
    if source.type != node.type:
        return None
    if tail is node:
        return source.inputs[0]
    work.graph.set_input(tail, 0, source.inputs[0])
    return node.inputs[0]


def cast_to_same(work: Work, node: Node) -> Endpoint | None:
    """A cast to the type that the value has."""
    if node.type != "Cast" or work.kept(node):
        return None
    return node.inputs[0] if node.attributes["SrcT"] == node.attributes["DstT"] else None


def pack_of_equals(work: Work, node: Node) -> Endpoint | None:
    """The same tensor stacked several times is a tile of it, reshaped."""
    if node.type != "Pack" or len(node.inputs) < 2 or work.kept(node):
        return None
    endpoint = node.inputs[0]
    shape, result = work.shape(endpoint), work.shape((node.name, 0))
    if any(each != endpoint for each in node.inputs) or not result.is_fully_defined():
        return None
    if not shape.is_fully_defined() or work.graph[endpoint[0]].type == "Pack":
        return None
    axis = node.attributes.get("axis", 0)
    if axis < 0 or axis >= (shape.rank or 0):
        return None
    parts = ("Multiples", "Tile", "Shape", "Reshape")
    names = {part: work.name(node, "ReplacePackWithTileReshape", part) for part in parts}
    if any(name in work.graph for name in names.values()):
        return None
    times = np.ones(shape.rank or 0, np.int32)
    times[axis] = len(node.inputs)
    dtype, device = node.dtypes[0], node.device
    work.constant(names["Multiples"], times, int32, device, after=endpoint[0])
    tile = work.add(
        names["Tile"],
        "Tile",
        [endpoint, (names["Multiples"], 0)],
        dtype,
        device,
        T=dtype,
        Tmultiples=int32,
    )
    work.wait_as(tile, node)
    sizes = np.array(result.as_tuple(), np.int32)
    work.constant(names["Shape"], sizes, int32, device, after=endpoint[0])
    inputs = [(tile.name, 0), (names["Shape"], 0)]
    work.add(names["Reshape"], "Reshape", inputs, dtype, device, T=dtype, Tshape=int32)
    work.again(tile)
    return names["Reshape"], 0


def multiply_by_ones(work: Work, node: Node) -> Endpoint | None:
    """A product with ones that only broadcasts is a tile."""
    if node.type != "Mul" or work.kept(node) or not work.is_all(node.inputs[1], 1):
        return None
    ones = work.graph.source(node, 1)
    if work.graph.source(node, 0).type == "Const" or ones.dtypes[0].name != "float32":
        return None
    shapes = [work.shape(each) for each in (*node.inputs, (node.name, 0))]
    if not all(shape.is_fully_defined() for shape in shapes):
        return None
    before, by, after = (shape.as_tuple() for shape in shapes)
    if before == after or not len(before) == len(by) == len(after):
        return None
    names = [work.name(node, "ReplaceMulWithBroadcastByTile", each) for each in ("Const", "Tile")]
    if any(name in work.graph for name in names):
        return None
    times = np.array([b // a for a, b in zip(before, after, strict=True)], np.int32)
    constant = work.constant(names[0], times, int32, node.device)
    work.wait_as(constant, ones)
    dtype, inputs = node.dtypes[0], [node.inputs[0], (names[0], 0)]
    tile = work.add(names[1], "Tile", inputs, dtype, node.device, T=dtype, Tmultiples=int32)
    work.wait_as(tile, node)
    return tile.name, 0


def reshape_for_nothing(work: Work, node: Node) -> Endpoint | None:
    """A reshape to the shape that is there already; a reshape of which another follows."""
    if node.type not in {"Reshape", "BroadcastTo"} or work.kept(node):
        return None
    same = same_shape(work.shape(node.inputs[0]), work.shape((node.name, 0)))
    if same and not node.controls:
        return node.inputs[0]
    if node.type != "Reshape":
        return None
    graph = work.graph
    tail, first = node, graph.source(node, 0)
    chain = [node]
    while first.type in ELEMENTWISE and first.inputs:
        if not work.only_reader(first) or work.kept(first):
            return None
        chain.append(first)
        tail, first = first, graph.source(first, 0)
    if first.type != "Reshape" or work.kept(first) or not work.only_reader(first):
        return None
    for each in chain[1:]:
        work.forget(each)
    graph.set_input(tail, 0, first.inputs[0])
    work.wait_as(tail, first)
    if not graph.readers(first.name):
        graph.rewire(first, [], [])
        graph.retype(first, "NoOp", {})
        first.dtypes = ()
    return node.name, 0


def cast_later(work: Work, node: Node) -> Endpoint | None:
    """What only moves values is done while they are small: before a cast that makes them larger."""
    casts = node.type in _CASTS
    if not (casts or node.type in _MOVES) or work.kept(node) or not node.inputs:
        return None
    producer = work.graph.source(node, 0)
    if not ((producer.type in _CASTS and not casts) or (producer.type in _MOVES and casts)):
        return None
    if work.kept(producer) or producer.device != node.device or not producer.inputs:
        return None
    cast = node if casts else producer
    source_type = work.graph.source(cast, 0).dtypes[cast.inputs[0][1]]
    if not (source_type.is_array and cast.dtypes[0].is_array):
        return None
    smaller = cast.dtypes[0].size < source_type.size
    larger = cast.dtypes[0].size > source_type.size
    if not (smaller if casts else larger):
        return None
    return _swapped(work, node, producer, source_type, cast.dtypes[0])


def _swapped(
    work: Work, consumer: Node, producer: Node, source_type: DType, target_type: DType
) -> Endpoint | None:
    stage = "ReorderCastLikeAndValuePreserving"
    first_name = work.name(consumer, stage, _type_name(source_type))
    second_name = work.name(producer, stage, _type_name(target_type))
    if first_name in work.graph or second_name in work.graph:
        return None
    first, second = consumer.copy(first_name), producer.copy(second_name)
    first.inputs[0] = producer.inputs[0]
    second.inputs[0] = (first_name, 0)
    mover, moved_type = (first, source_type) if producer.type in _CASTS else (second, target_type)
    mover.attributes["T"] = moved_type
    mover.dtypes = (moved_type,)
    work.graph.add(first)
    work.graph.add(second)
    work.again(first)
    return second_name, 0


def _type_name(dtype: DType) -> str:
    """As C++ writes it: `DataTypeString`."""
    return {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)


def twice_the_same(work: Work, node: Node) -> Endpoint | None:
    """An op that changes nothing when it is done again."""
    if node.type not in _IDEMPOTENT or len(node.inputs) + len(node.controls) != 1:
        return None
    if work.kept(node) or not node.inputs:
        return None
    source = work.graph.source(node, 0)
    same = source.type == node.type and source.device == node.device
    return node.inputs[0] if same else None


def slice_of_stack(work: Work, node: Node) -> Endpoint | None:
    """One element of a stack is what was stacked."""
    if node.type != "StridedSlice" or work.kept(node):
        return None
    pack = work.graph.source(node, 0)
    limits = [work.constant_value(endpoint) for endpoint in node.inputs[1:4]]
    if pack.type != "Pack" or any(limit is None or limit.size != 1 for limit in limits):
        return None
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask")
    if any(node.attributes.get(mask) for mask in masks) or pack.attributes.get("axis", 0):
        return None
    begin, end, stride = (int(limit[0]) for limit in limits)  # type: ignore[index]
    name = work.name(node, "RemoveStackStridedSliceSameAxis")
    if stride != 1 or end != begin + 1 or not 0 <= begin < len(pack.inputs) or name in work.graph:
        return None
    taken, dtype = pack.inputs[begin], node.dtypes[0]
    if node.attributes.get("shrink_axis_mask"):
        output = work.add(name, "Identity", [taken], dtype, node.device, T=dtype)
    else:
        axis = work.name(node, "RemoveStackStridedSliceSameAxis", "Axis")
        work.constant(axis, np.array(0, np.int32), int32, node.device, after=taken[0])
        inputs = [taken, (axis, 0)]
        output = work.add(name, "ExpandDims", inputs, dtype, node.device, T=dtype, Tdim=int32)
    work.wait_as(output, node, pack)
    work.again(output)
    return name, 0
