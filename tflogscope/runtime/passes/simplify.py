"""Constant folding's rules for single ops: one whose constant input makes it trivial. See
`ConstantFolding::SimplifyNode`. NB: five of some twenty.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from tflogscope.runtime.core.definition import NodeDef
from tflogscope.runtime.core.release import since
from tflogscope.runtime.passes.dependencies import control_anchor
from tflogscope.runtime.passes.graph import Graph
from tflogscope.runtime.passes.shapes import Properties, same_shape

ADDITIONS = frozenset({"Add", "AddV2"})
REDUCTIONS = frozenset({"Sum", "Prod", "Min", "Max", "Mean", "Any", "All"})
_NEUTRAL = {
    **dict.fromkeys(("Mul", "LogicalAnd"), (1, True)),
    **dict.fromkeys(("Add", "AddV2", "BiasAdd", "LogicalOr"), (0, True)),
    "Sub": (0, False),
    "RealDiv": (1, False),
}
"""Ops and what changes nothing as their second input; of some as their first one, too."""
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
    before, keeps = properties.shape(node.inputs[0]), node.attributes.get("keep_dims", False)
    if not before.is_fully_defined() or not keeps:
        return False
    sizes = before.sizes()
    ones = all(-len(sizes) <= at < len(sizes) and sizes[at] == 1 for at in axes.ravel())
    return ones and _hands_on(graph, node)


# -- neutral elements


def _neutral_element(graph: Graph, node: NodeDef, properties: Properties) -> bool:
    """NB: only what hands on an input as it is; nothing that broadcasts."""
    if node.type not in _NEUTRAL:
        return False
    neutral, commutes = _NEUTRAL[node.type]
    output = properties.shape((node.name, 0))
    for place in (0, 1) if commutes else (0,):
        other = value_of(graph.source(node, 1 - place))
        fits = same_shape(output, properties.shape(node.inputs[place]))
        if fits and other is not None and other.dtype != object and np.all(other == neutral):
            return _hands_on(graph, node, place)
    return False


def _product_with_zero(graph: Graph, node: NodeDef, properties: Properties) -> bool:
    """Such as the momentum of SGD that has none. NB: since 2.17 the other one may be NaN."""
    if node.type != "Mul" or (since(2, 17) and node.dtypes[0].is_floating):
        return False
    output = properties.shape((node.name, 0))
    values = [value_of(graph.source(node, place)) for place in range(2)]
    if not output.is_fully_defined() or not any(e is not None and np.all(e == 0) for e in values):
        return False
    become_constant(graph, node, np.zeros(output.sizes(), node.dtypes[0].as_numpy_dtype))
    return True


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
    _reduction_of_nothing,
    _reshape_to_same,
    _neutral_element,
    _product_with_zero,
    _multiply_by_reciprocal,
)
