"""Arithmetic with constants: times one, plus zero, divided by a constant, sums of sums.

Told about: `SimplifyArithmeticOperations`, `ReduceDivToReciprocalMul`, `ConstantPushDown` and
`MulConvPushDown` of `constant_folding.cc`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tflogscope.runtime.dtypes import bfloat16, float16, int32
from tflogscope.runtime.ops.references import TAKES_REFERENCE
from tflogscope.runtime.passes.constant_edges import control_anchor
from tflogscope.runtime.passes.facts import ADDITIONS
from tflogscope.runtime.passes.folding.constants import (
    all_are,
    become_constant,
    become_identity,
    new_constant,
    optimized_name,
)
from tflogscope.runtime.passes.graph import MutableGraph, Node
from tflogscope.runtime.passes.shapes import Properties, same_shape
from tflogscope.runtime.release import since

__all__ = [
    "multiply_by_reciprocal",
    "neutral_element",
    "push_constant_down",
    "push_past_convolution",
]

_MULTIPLICATIONS = frozenset({"Mul", "LogicalAnd"})
_SUMS = ADDITIONS | {"BiasAdd", "LogicalOr"}
_DIVISIONS = frozenset({"Div", "RealDiv", "Xdivy"})
_MATMULS = frozenset({"MatMul", "BatchMatMul", "BatchMatMulV2", "SparseMatMul"})


def neutral_element(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    """Of neutral elements: x·1, x+0, x−0, x/1 are x, or x broadcast; 0−x is −x, 1/x its reciprocal;
    x·0 is 0.
    """
    known = _MULTIPLICATIONS | _SUMS | _DIVISIONS | _MATMULS | {"Sub"}
    if node.type not in known:
        return False
    fitting = [
        same_shape(properties.shape((node.name, 0)), properties.shape(endpoint))
        for endpoint in node.inputs[:2]
    ]
    return _without_neutral(graph, node, properties, fitting) or _zero(
        graph, node, properties, fitting
    )


def _without_neutral(
    graph: MutableGraph, node: Node, properties: Properties, fitting: Sequence[bool]
) -> bool:
    multiplies, adds = node.type in _MULTIPLICATIONS, node.type in _SUMS
    subtracts, divides = node.type == "Sub", node.type in _DIVISIONS
    x, y = graph.source(node, 0), graph.source(node, 1)
    x_zero, y_zero = all_are(graph, x, 0), all_are(graph, y, 0)
    x_one, y_one = not x_zero and all_are(graph, x, 1), not y_zero and all_are(graph, y, 1)
    inexact = node.dtypes[0].is_floating or node.dtypes[0].is_complex
    if (multiplies and x_one) or (adds and x_zero):
        return _hand_on(graph, node, 1, properties, fitting)
    if fitting[1] and subtracts and x_zero:
        _become_unary(graph, node, "Neg")
    elif fitting[1] and divides and x_one and inexact:
        _become_unary(graph, node, "Reciprocal")
    elif ((multiplies or divides) and y_one) or ((adds or subtracts) and y_zero):
        return _hand_on(graph, node, 0, properties, fitting)
    else:
        return False
    return True


def _hand_on(
    graph: MutableGraph, node: Node, place: int, properties: Properties, fitting: Sequence[bool]
) -> bool:
    """Let the node be that input, broadcast if that is what the neutral element does."""
    shape = properties.shape((node.name, 0))
    name = optimized_name(node, f"-broadcastto_shape-{place}")
    if not fitting[place]:
        if not shape.is_fully_defined() or name in graph:
            return False
        after = control_anchor(graph, node.inputs[1 - place])
        new_constant(graph, name, np.array(shape.as_tuple(), np.int32), int32, node.device, after)
    become_identity(graph, node, place)
    if fitting[place] and _changes_tensors(graph):
        graph.retype(node, "Snapshot", {"T": node.dtypes[0]})
    if not fitting[place]:
        graph.rewire(node, [node.inputs[0], (name, 0)])
        graph.retype(node, "BroadcastTo", {"T": node.dtypes[0], "Tidx": int32})
    return True


def _changes_tensors(graph: MutableGraph) -> bool:
    """May a value change while somebody has it, as those of TensorFlow 1's variables do? Then what
    is handed on is copied. Told about: `graph_contains_assign_or_inplace_op_`.
    """
    return any(node.type in TAKES_REFERENCE for node in graph)


def _zero(graph: MutableGraph, node: Node, properties: Properties, fitting: Sequence[bool]) -> bool:
    """What is always false, true or zero."""
    output = properties.shape((node.name, 0))
    sources = graph.source(node, 0), graph.source(node, 1)
    if node.type == "LogicalOr":
        true = any(all_are(graph, each, 1) for each in sources)
        if true and output.is_fully_defined():
            become_constant(graph, node, np.ones(output.as_tuple(), np.bool_))
            return True
        return False
    if node.type not in _MULTIPLICATIONS | _MATMULS:
        return False
    if since(2, 17) and (node.dtypes[0].is_floating or node.dtypes[0].is_complex):
        return False  # x may be NaN
    zeros = [all_are(graph, each, 0) for each in sources]
    if any(zeros) and output.is_fully_defined():
        dtype = node.dtypes[0].as_numpy_dtype
        become_constant(graph, node, np.zeros(output.as_tuple(), dtype))
        return True
    for place in range(2):
        if node.type in _MULTIPLICATIONS and zeros[place] and fitting[place]:
            become_identity(graph, node, place)
            return True
    return False


def _become_unary(graph: MutableGraph, node: Node, type: str) -> None:
    """Let the node be `type` of its second input, and wait for the first."""
    first, second = node.inputs
    graph.rewire(node, [second], [first[0], *node.controls])
    graph.retype(node, type, node.attributes)


def multiply_by_reciprocal(graph: MutableGraph, node: Node, _: Properties) -> bool:
    """Of x / constant: it is x · (1 / constant), and the second is known."""
    if node.type not in {"RealDiv", "Div"} or graph.source(node, 1).type != "Const":
        return False
    dtype = node.dtypes[0]
    if not (dtype.is_floating or dtype.is_complex):
        return False
    reciprocal = Node(
        optimized_name(node, "_recip"),
        "Reciprocal",
        [node.inputs[1]],
        attributes={"T": dtype},
        device=node.device,
        dtypes=(dtype,),
    )
    graph.add(reciprocal)
    graph.set_input(node, 1, (reciprocal.name, 0))
    graph.retype(node, "Mul", node.attributes)
    return True


@dataclass(frozen=True)
class _Nest:
    """An operation on a constant and on another operation: `constant + (a + b)`."""

    constant: int
    """Which input of the outer one is the constant."""
    inner: Node
    leaf: int
    """Which input of the inner one changes places with the constant: one that is no constant."""


def push_constant_down(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    """Sums of sums: c + (x + y) becomes x + (c + y). If y is constant, that sum is known."""
    adds, multiplies = node.type in ADDITIONS | {"Sub"}, node.type in {"Mul", "Div"}
    if not (adds or multiplies):
        return False
    nest = _nest(graph, node)
    if nest is None:
        return False
    inner = nest.inner
    family = ADDITIONS | {"Sub"} if adds else {"Mul", "Div"}
    if inner.type not in family:
        return False
    symmetric = node.type in ADDITIONS | {"Mul"} and inner.type in ADDITIONS | {"Mul"}
    dtype = node.dtypes[0]
    if not symmetric and not (dtype.is_floating or dtype.is_complex):
        return False
    c = node.inputs[nest.constant]
    x, y = inner.inputs[nest.leaf], inner.inputs[1 - nest.leaf]
    if graph[y[0]].type != "Const" and not _is_no_larger(c, x, properties):
        return False
    if symmetric:
        graph.rewire(node, [x, node.inputs[1 - nest.constant]])
        graph.rewire(inner, [c, y])
        return True
    return _push_difference(graph, node, nest, adds=adds)


def _nest(graph: MutableGraph, node: Node) -> _Nest | None:
    if len(node.inputs) != 2 or node.dtypes[0] in {bfloat16, float16}:
        return None
    sources = [graph.source(node, place) for place in range(2)]
    constants = [source.type == "Const" for source in sources]
    if not any(constants):
        return None
    constant = 0 if constants[0] else 1
    inner = sources[1 - constant]
    if len(inner.inputs) < 2 or inner.name in graph.kept:
        return None
    if len({reader.name for reader, _ in graph.data_readers(inner.name)}) > 1:
        return None
    if inner.name in sources[constant].controls:
        return None
    leaves = [graph.source(inner, place).type == "Const" for place in range(2)]
    if all(leaves):
        return None
    return _Nest(constant, inner, 1 if leaves[0] else 0)


def _is_no_larger(c: tuple[str, int], x: tuple[str, int], properties: Properties) -> bool:
    """The inner operation must not become one on larger tensors."""
    constant, other = properties.shape(c), properties.shape(x)
    if constant.is_fully_defined() and other.is_fully_defined():
        if (constant.num_elements() or 0) > (other.num_elements() or 0):
            return False
    elif constant.rank and other.rank:
        pairs = zip(constant.as_list(), other.as_list(), strict=False)
        if any(a is not None and b is not None and a > b for a, b in pairs):
            return False
    return True


def _push_difference(graph: MutableGraph, node: Node, nest: _Nest, *, adds: bool) -> bool:
    """The same where one of both is a difference or quotient: signs have to be kept."""
    inner = nest.inner
    plus, minus = ("Add", "Sub") if adds else ("Mul", "Div")
    c = node.inputs[nest.constant]
    x, y = inner.inputs[nest.leaf], inner.inputs[1 - nest.leaf]
    inner_negated = node.type == minus and nest.constant == 0
    c_negated = node.type == minus and nest.constant == 1
    x_negated = inner_negated != (inner.type == minus and nest.leaf == 1)
    y_negated = inner_negated != (inner.type == minus and nest.leaf == 0)
    same = c_negated == y_negated
    graph.rewire(inner, [c, y] if same or y_negated else [y, c])
    graph.retype(inner, plus if same else minus, inner.attributes)
    negated = same and c_negated  # never together with x
    graph.rewire(node, [(inner.name, 0), x] if x_negated else [x, (inner.name, 0)])
    graph.retype(node, minus if x_negated or negated else plus, node.attributes)
    return True


def push_past_convolution(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    """A convolution's result times a constant is one with its constant filter times it."""
    if node.type != "Mul":
        return False
    sources = [graph.source(node, place) for place in range(2)]
    constants = [source.type == "Const" for source in sources]
    if not any(constants):
        return False
    convolution = sources[1] if constants[0] else sources[0]
    if convolution.type not in {"Conv2D", "Conv3D"} or convolution.name in graph.kept:
        return False
    if len(graph.data_readers(convolution.name)) > 1:
        return False
    known = [graph.source(convolution, place).type == "Const" for place in range(2)]
    if known[0] == known[1]:
        return False
    shapes = [properties.shape((each.name, 0)) for each in (node, convolution)]
    if not same_shape(shapes[0], shapes[1]):
        return False
    constant = node.inputs[0 if constants[0] else 1]
    factor = properties.shape(constant)
    if factor.num_elements() != 1 and (
        convolution.attributes.get("data_format") != "NHWC"
        or any(size != 1 for size in factor.as_list()[:-1])
    ):
        return False
    place = 0 if known[0] else 1
    graph_input = convolution.inputs[place]
    merged = Node(
        f"{convolution.name}/merged_input",
        "Mul",
        [constant, graph_input] if constants[0] else [graph_input, constant],
        attributes=dict(node.attributes),
        device=node.device,
        dtypes=node.dtypes,
    )
    graph.add(merged)
    inputs = list(convolution.inputs)
    inputs[place] = (merged.name, 0)
    graph.rewire(node, inputs, [*node.controls, *convolution.controls])
    graph.retype(node, convolution.type, convolution.attributes)
    return True
