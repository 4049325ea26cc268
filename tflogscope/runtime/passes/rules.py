"""Rules for single nodes: the same result by fewer or cheaper ops. `RULES` is the table. See
`ConstantFolding::SimplifyNode`, `core/grappler/optimizers/arithmetic_optimizer.cc`,
`shape_optimizer.cc`. NB: nine of some sixty, all of them in turn until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

from tflogscope.runtime.core.context import since
from tflogscope.runtime.core.graph import Endpoint, NodeDef
from tflogscope.runtime.passes.graph import Graph, Properties, fanin

ADDITIONS = ("Add", "AddV2")
_REDUCTIONS = ("Sum", "Prod", "Min", "Max", "Mean", "Any", "All")
_NEUTRAL = {
    **dict.fromkeys(("Mul", "LogicalAnd"), (1, True)),
    **dict.fromkeys((*ADDITIONS, "BiasAdd", "LogicalOr"), (0, True)),
    "Sub": (0, False),
    "RealDiv": (1, False),
}
"""Ops and what changes nothing as their second input; of some as their first one, too."""
_POWERS = {2.0: "Square", 0.5: "Sqrt", -0.5: "Rsqrt", -1.0: "Reciprocal"}


def apply_rules(graph: Graph, properties: Properties, left: Collection[str]) -> bool:
    """Apply the first rule that fits each node, but for those in `left`. Was there one?"""
    modified = False
    for node in graph:
        if node.name not in left and node.name in graph:
            rules = RULES.get(node.type, ())
            modified |= any(rule(graph, node, properties) for rule in rules)
    return modified


def value_of(graph: Graph, endpoint: Endpoint) -> Any:
    """The value, if it is a constant's; else None."""
    node = graph[endpoint[0]]
    return node.attributes["value"] if node.type == "Const" else None


# -- what a rule does


def become(
    graph: Graph, node: NodeDef, type: str, inputs: Iterable[Endpoint] = (), **attributes: Any
) -> bool:
    """Make it another op, which waits for what it no longer reads."""
    graph.rewire(node, inputs, fanin(node))
    graph.retype(node, type, attributes)
    return True


def become_constant(graph: Graph, node: NodeDef, value: Any) -> bool:
    """Make it a Const."""
    dtype = node.dtypes[0]
    return become(graph, node, "Const", value=np.asarray(value, dtype.as_numpy_dtype), dtype=dtype)


def _hands_on(graph: Graph, node: NodeDef, place: int = 0) -> bool:
    return become(graph, node, "Identity", [node.inputs[place]], T=node.dtypes[0])


def _replace(graph: Graph, node: NodeDef, stage: str, new: NodeDef) -> bool:
    """Let others read a new node in its place."""
    scope, _, name = node.name.rpartition("/")
    new.name = f"{scope}/ArithmeticOptimizer/{stage}_{name}".removeprefix("/")
    if new.name in graph or node.name in graph.kept:
        return False
    graph.add(new)
    for reader in graph.readers(node.name):
        graph.redirect(reader, node.name, new.name)
    return True


# -- rules of constant folding


def _reduction_of_nothing(graph: Graph, node: NodeDef, properties: Properties) -> bool:
    axes, before = value_of(graph, node.inputs[1]), properties.shape(node.inputs[0])
    if axes is None:
        return False
    ones = bool(node.attributes.get("keep_dims")) and before.is_fully_defined()
    ones = ones and all(before.sizes()[at] == 1 for at in axes.ravel())
    return (axes.size == 0 or ones) and _hands_on(graph, node)


def _neutral_element(graph: Graph, node: NodeDef, properties: Properties) -> bool:
    """NB: only what hands on an input as it is; nothing that broadcasts."""
    neutral, commutes = _NEUTRAL[node.type]
    for place in (0, 1) if commutes else (0,):
        other = value_of(graph, node.inputs[1 - place])
        fits = properties.same_shape((node.name, 0), node.inputs[place])
        if fits and other is not None and other.dtype != object and np.all(other == neutral):
            return _hands_on(graph, node, place)
    return False


def _product_with_zero(graph: Graph, node: NodeDef, properties: Properties) -> bool:
    """Such as the momentum of SGD that has none. NB: since 2.17 the other one may be NaN."""
    output = properties.shape((node.name, 0))
    if (since(2, 17) and node.dtypes[0].is_floating) or not output.is_fully_defined():
        return False
    values = [value_of(graph, endpoint) for endpoint in node.inputs]
    zero = any(value is not None and np.all(value == 0) for value in values)
    return zero and become_constant(graph, node, np.zeros(output.sizes()))


def _multiply_by_reciprocal(graph: Graph, node: NodeDef, _: Properties) -> bool:
    """X / 2 is x · (1 / 2), of which the latter is folded."""
    dtype, divisor = node.dtypes[0], node.inputs[1]
    if value_of(graph, divisor) is None or not dtype.is_floating:
        return False
    name = f"ConstantFolding/{node.name}_recip"
    graph.add(NodeDef(name, "Reciprocal", [divisor], [], {"T": dtype}, node.device, node.dtypes))
    graph.set_input(node, 1, (name, 0))
    graph.retype(node, "Mul", node.attributes)
    return True


# -- rules of the shape optimizer and the arithmetic one


def _size(graph: Graph, node: NodeDef, properties: Properties) -> bool:
    """The product of a shape."""
    shape = graph.source(node, 0)
    if shape.type != "Shape" or node.attributes.get("keep_dims"):
        return False
    if properties.shape(node.inputs[1]).num_elements() != 1:
        return False
    types = {"T": shape.attributes["T"], "out_type": node.dtypes[0]}
    return become(graph, node, "Size", shape.inputs, **types)


def _reshape_for_nothing(graph: Graph, node: NodeDef, properties: Properties) -> bool:
    return properties.same_shape((node.name, 0), node.inputs[0]) and _hands_on(graph, node)


def _transpose_into_product(graph: Graph, node: NodeDef, _: Properties) -> bool:
    new = node.copy("")
    flags = ("transpose_a", "transpose_b") if node.type == "MatMul" else ("adj_x", "adj_y")
    for place, flag in enumerate(flags):
        source = graph.source(node, place)
        order = value_of(graph, source.inputs[1]) if source.type == "Transpose" else None
        rank = 0 if order is None else len(order)
        if order is not None and list(order) == [*range(rank - 2), rank - 1, rank - 2]:
            new.attributes[flag] = not new.attributes.get(flag, False)
            new.inputs[place] = source.inputs[0]
            new.controls = list(dict.fromkeys((*new.controls, *source.controls)))
    return new.inputs != node.inputs and _replace(graph, node, "FoldTransposeIntoMatMul", new)


def _square(graph: Graph, node: NodeDef, _: Properties) -> bool:
    if node.inputs[0] != node.inputs[1]:
        return False
    new = node.copy("")
    new.type, new.inputs = "Square", node.inputs[:1]
    return _replace(graph, node, "ReplaceMulWithSquare", new)


def _power(graph: Graph, node: NodeDef, _: Properties) -> bool:
    exponent = value_of(graph, node.inputs[1])
    if exponent is None or len(np.unique(exponent)) != 1:
        return False
    type = _POWERS.get(float(exponent.flat[0]))
    return type is not None and become(graph, node, type, node.inputs[:1], **node.attributes)


def _reciprocal_root(graph: Graph, node: NodeDef, _: Properties) -> bool:
    """A quotient by a root that nobody else reads is a product."""
    root = graph.source(node, 1)
    if root.type != "Sqrt" or len(graph.data_readers(root.name)) > 1:
        return False
    graph.retype(node, "Mul", node.attributes)
    graph.retype(root, "Rsqrt", root.attributes)
    return True


Rule = Callable[[Graph, NodeDef, Properties], bool]
_TABLE: tuple[tuple[Rule, tuple[str, ...]], ...] = (
    (_reduction_of_nothing, _REDUCTIONS),
    (_neutral_element, tuple(_NEUTRAL)),
    (_product_with_zero, ("Mul",)),
    (_multiply_by_reciprocal, ("RealDiv",)),
    (_size, ("Prod",)),
    (_reshape_for_nothing, ("Reshape",)),
    (_transpose_into_product, ("MatMul", "BatchMatMulV2")),
    (_square, ("Mul",)),
    (_power, ("Pow",)),
    (_reciprocal_root, ("RealDiv",)),
)
RULES: dict[str, list[Rule]] = {}
"""Of each op, in order."""
for _rule, _types in _TABLE:
    for _type in _types:
        RULES.setdefault(_type, []).append(_rule)
