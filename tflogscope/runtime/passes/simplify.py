"""Constant folding's rules for single ops: one whose constant input makes it trivial. See `ConstantFolding::SimplifyNode`. NB: the rules that some program
has met; TensorFlow has about twice as many.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime.core.definition import NodeDef
from tflogscope.runtime.core.dtypes import bool_, int32
from tflogscope.runtime.core.release import since
from tflogscope.runtime.passes.dependencies import control_anchor
from tflogscope.runtime.passes.graph import Graph
from tflogscope.runtime.passes.shapes import Properties, same_shape

ADDITIONS = frozenset({"Add", "AddV2"})
REDUCTIONS = frozenset({"Sum", "Prod", "Min", "Max", "Mean", "Any", "All"})
_MULTIPLICATIONS = frozenset({"Mul", "LogicalAnd"})
_SUMS = ADDITIONS | {"BiasAdd", "LogicalOr"}
_MATMULS = frozenset({"MatMul", "BatchMatMulV2"})
Rule = Callable[[Graph, NodeDef, Properties], bool]


def optimized_name(node: NodeDef, suffix: str) -> str:
    """The name of a node that constant folding adds for this one."""
    return f"ConstantFolding/{node.name}{suffix}"


def value_of(node: NodeDef) -> Any:
    """The value of a Const; None for another op."""
    return node.attributes["value"] if node.type == "Const" else None


def become_constant(graph: Graph, node: NodeDef, value: Any) -> None:
    """Make it a Const that waits for what it read."""
    anchors = [control_anchor(graph, endpoint) for endpoint in node.inputs]
    graph.rewire(node, [], [*anchors, *node.controls])
    graph.retype(node, "Const", {"value": value, "dtype": node.dtypes[0]})


def simplify(graph: Graph, properties: Properties, left: Collection[str]) -> bool:
    """Apply the first rule that fits each node, but for those in `left`. Was there one?"""
    modified = False
    for node in graph:
        if node.name not in left and node.name in graph:
            modified |= any(rule(graph, node, properties) for rule in RULES)
    return modified


def _hands_on(graph: Graph, node: NodeDef, place: int = 0) -> bool:
    """Make it an Identity of that input, which waits for the others."""
    inputs = list(node.inputs)
    inputs[0], inputs[place] = inputs[place], inputs[0]
    anchors = [control_anchor(graph, endpoint) for endpoint in inputs[1:]]
    controls = [each for each in (*anchors, *node.controls) if each != inputs[0][0]]
    graph.rewire(node, inputs[:1], controls)
    graph.retype(node, "Identity", {"T": node.dtypes[0]})
    return True


# -- ops that do nothing


def _transpose_of_nothing(graph: Graph, node: NodeDef, properties: Properties) -> bool:
    if node.type != "Transpose":
        return False
    shape, order = properties.shape(node.inputs[0]), properties.value(node.inputs[1])
    if shape.dims is None or order is None or len(order) != len(shape.dims):
        return False
    pairs = enumerate(zip(shape.dims, order, strict=True))
    return all(size == 1 or k == at for k, (size, at) in pairs) and _hands_on(graph, node)


def _reshape_to_same(graph: Graph, node: NodeDef, properties: Properties) -> bool:
    wanted = value_of(graph.source(node, 1)) if node.type == "Reshape" else None
    shape = properties.shape(node.inputs[0]) if wanted is not None else None
    if wanted is None or shape is None or not shape.is_fully_defined():
        return False
    if wanted.size != shape.rank:
        return False
    pairs = zip(wanted.ravel().tolist(), shape.sizes(), strict=True)
    return all(a in {-1, b} for a, b in pairs) and _hands_on(graph, node)


def _reduction_of_nothing(graph: Graph, node: NodeDef, properties: Properties) -> bool:
    axes = value_of(graph.source(node, 1)) if node.type in REDUCTIONS else None
    if axes is None:
        return False
    if axes.size == 0:
        return _hands_on(graph, node)
    before, after = properties.shape(node.inputs[0]), properties.shape((node.name, 0))
    if not before.is_fully_defined() or not after.is_fully_defined():
        return False
    sizes, keeps = before.sizes(), node.attributes.get("keep_dims", False)
    if keeps and all(-len(sizes) <= at < len(sizes) and sizes[at] == 1 for at in axes.ravel()):
        return _hands_on(graph, node)
    one = before.num_elements() == after.num_elements() == 1
    if not one or not after.rank or keeps or "T" not in node.attributes:
        return False
    name, value = optimized_name(node, "_shape_const"), np.ones(after.rank, np.int32)
    graph.constant(name, value, int32, node.device, [node.inputs[1][0]])
    graph.set_input(node, 1, (name, 0))
    graph.retype(node, "Reshape", {"T": node.attributes["T"], "Tshape": int32})
    return True


def _switch_on_itself(graph: Graph, node: NodeDef, _: Properties) -> bool:
    """What comes out of `Switch(p, p)` is known on either side."""
    if node.type != "Switch" or node.inputs[0] != node.inputs[1]:
        return False
    names = [optimized_name(node, suffix) for suffix in ("_const_false", "_const_true")]
    readers = graph.readers(node.name)
    done = len(readers) != 2 or all(  # TensorFlow takes any other number for done, too
        reader.type == "Identity" and not graph.data_readers(reader.name) for reader in readers
    )
    if done or any(name in graph for name in names):
        return False
    for output, name in enumerate(names):
        anchor = control_anchor(graph, (node.name, output))
        graph.constant(name, np.array(bool(output)), bool_, node.device, [anchor])
    for reader in readers:
        for at, (source, output) in enumerate(list(reader.inputs)):
            if source == node.name:
                graph.set_input(reader, at, (names[output], 0))
    return True


# -- neutral elements and zeros


def _all_are(graph: Graph, node: NodeDef, value: int) -> bool:
    if node.type in {"ZerosLike", "OnesLike"}:
        return value == (node.type == "OnesLike")
    if node.type == "Fill":
        return _all_are(graph, graph.source(node, 1), value)
    constant = value_of(node)
    return constant is not None and constant.dtype != object and bool(np.all(constant == value))


def _neutral_element(graph: Graph, node: NodeDef, properties: Properties) -> bool:
    if node.type not in _MULTIPLICATIONS | _SUMS | _MATMULS | {"Sub", "RealDiv"}:
        return False
    output = properties.shape((node.name, 0))
    fits = [same_shape(output, properties.shape(endpoint)) for endpoint in node.inputs[:2]]
    x, y = graph.source(node, 0), graph.source(node, 1)
    multiplies, adds = node.type in _MULTIPLICATIONS, node.type in _SUMS
    neutral = 1 if multiplies or node.type == "RealDiv" else 0
    if node.type in _MATMULS:
        return _zero(graph, node, properties, fits)
    if (multiplies or adds) and _all_are(graph, x, neutral):
        return _pass_on(graph, node, 1, properties, fits[1])
    if fits[1] and node.type == "Sub" and _all_are(graph, x, 0):
        return _become_unary(graph, node, "Neg")
    if fits[1] and node.type == "RealDiv" and _all_are(graph, x, 1):
        return _become_unary(graph, node, "Reciprocal")
    if _all_are(graph, y, neutral):
        return _pass_on(graph, node, 0, properties, fits[0])
    return multiplies and _zero(graph, node, properties, fits)


def _become_unary(graph: Graph, node: NodeDef, type: str) -> bool:
    first, second = node.inputs
    graph.rewire(node, [second], [first[0], *node.controls])
    graph.retype(node, type, node.attributes)
    return True


def _pass_on(graph: Graph, node: NodeDef, place: int, properties: Properties, fits: bool) -> bool:
    shape, dtype = properties.shape((node.name, 0)), node.dtypes[0]
    name = optimized_name(node, f"-broadcastto_shape-{place}")
    if not fits:
        if not shape.is_fully_defined() or name in graph:
            return False
        after = control_anchor(graph, node.inputs[1 - place])
        graph.constant(name, np.array(shape.sizes(), np.int32), int32, node.device, [after])
    _hands_on(graph, node, place)
    if not fits:
        graph.rewire(node, [node.inputs[0], (name, 0)])
        graph.retype(node, "BroadcastTo", {"T": dtype, "Tidx": int32})
    elif any(each.type in {"Assign", "ApplyGradientDescent"} for each in graph):
        graph.retype(node, "Snapshot", {"T": dtype})  # the tensor itself may change
    return True


def _zero(graph: Graph, node: NodeDef, properties: Properties, fits: Sequence[bool]) -> bool:
    if since(2, 17) and node.dtypes[0].is_floating:
        return False  # the other one may be NaN
    output, dtype = properties.shape((node.name, 0)), node.dtypes[0].as_numpy_dtype
    zeros = [_all_are(graph, graph.source(node, place), 0) for place in range(2)]
    if any(zeros) and output.is_fully_defined():
        become_constant(graph, node, np.zeros(output.sizes(), dtype))
        return True
    for place in range(2):
        if node.type in _MULTIPLICATIONS and zeros[place] and fits[place]:
            return _hands_on(graph, node, place)
    return False


def _multiply_by_reciprocal(graph: Graph, node: NodeDef, _: Properties) -> bool:
    """X / 2 is x · (1 / 2), of which the latter is folded."""
    dtype = node.dtypes[0] if node.dtypes else None
    if node.type != "RealDiv" or graph.source(node, 1).type != "Const" or not dtype.is_floating:  # type: ignore[union-attr]
        return False
    name, given = optimized_name(node, "_recip"), [node.inputs[1]]
    graph.add(NodeDef(name, "Reciprocal", given, [], {"T": dtype}, node.device, node.dtypes))
    graph.set_input(node, 1, (name, 0))
    graph.retype(node, "Mul", node.attributes)
    return True


RULES: tuple[Rule, ...] = (
    _transpose_of_nothing,
    _switch_on_itself,
    _reduction_of_nothing,
    _reshape_to_same,
    _neutral_element,
    _multiply_by_reciprocal,
)
