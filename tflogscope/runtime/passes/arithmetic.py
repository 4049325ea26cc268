"""The arithmetic optimizer: the same result by fewer or cheaper ops. See
`core/grappler/optimizers/arithmetic_optimizer.cc`. NB: five of its thirty stages, each node once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tflogscope.runtime.core.definition import Endpoint, NodeDef
from tflogscope.runtime.passes.graph import Graph, topological
from tflogscope.runtime.passes.shapes import Properties, same_shape
from tflogscope.runtime.passes.simplify import value_of

_POWERS = {2.0: "Square", 0.5: "Sqrt", -0.5: "Rsqrt", -1.0: "Reciprocal"}


def rewrite_arithmetic(graph: Graph) -> None:
    """Look at each node, the last one first."""
    properties = Properties(graph)
    for name in reversed(topological(graph) or list(graph.nodes)):
        for stage in STAGES:
            better = stage(graph, graph[name], properties)
            if better is not None and better[0] != name:
                for reader in graph.readers(name):
                    graph.redirect(reader, name, better)


def _name(node: NodeDef, stage: str) -> str:
    scope, _, name = node.name.rpartition("/")
    return f"{scope}/ArithmeticOptimizer/{stage}_{name}".removeprefix("/")


def _transpose_into_matmul(graph: Graph, node: NodeDef, _: Properties) -> Endpoint | None:
    name = _name(node, "FoldTransposeIntoMatMul")
    if node.type not in {"MatMul", "BatchMatMulV2"} or name in graph or node.name in graph.kept:
        return None
    new = node.copy(name)
    flags = ("transpose_a", "transpose_b") if node.type == "MatMul" else ("adj_x", "adj_y")
    for place, flag in enumerate(flags):
        source = graph.source(node, place)
        order = value_of(graph.source(source, 1)) if source.type == "Transpose" else None
        rank = 0 if order is None else len(order)
        if order is not None and list(order) == [*range(rank - 2), rank - 1, rank - 2]:
            new.attributes[flag] = not new.attributes.get(flag, False)
            new.inputs[place] = source.inputs[0]
            new.controls += [each for each in source.controls if each not in new.controls]
    if new.inputs == node.inputs:
        return None
    graph.add(new)
    return name, 0


def _reshape_for_nothing(graph: Graph, node: NodeDef, properties: Properties) -> Endpoint | None:
    if node.type != "Reshape" or node.controls or node.name in graph.kept:
        return None
    same = same_shape(properties.shape(node.inputs[0]), properties.shape((node.name, 0)))
    return node.inputs[0] if same else None


def _square_for_product(graph: Graph, node: NodeDef, _: Properties) -> Endpoint | None:
    name = _name(node, "ReplaceMulWithSquare")
    if node.type != "Mul" or node.inputs[0] != node.inputs[1] or name in graph:
        return None
    square = node.copy(name)
    square.type, square.inputs = "Square", node.inputs[:1]
    graph.add(square)
    return name, 0


def _power(graph: Graph, node: NodeDef, _: Properties) -> Endpoint | None:
    exponent = value_of(graph.source(node, 1)) if node.type == "Pow" else None
    if exponent is not None and exponent.size and np.all(exponent == exponent.flat[0]):
        type_ = _POWERS.get(float(exponent.flat[0]))
        if type_ is not None:
            graph.rewire(node, node.inputs[:1], [node.inputs[1][0], *node.controls])
            graph.retype(node, type_, node.attributes)
    return None


def _reciprocal_root(graph: Graph, node: NodeDef, _: Properties) -> Endpoint | None:
    """A quotient by a root that nobody else reads is a product."""
    root = graph.source(node, 1) if node.type == "RealDiv" else None
    fits = root is not None and root.type == "Sqrt" and root.name not in graph.kept
    if root is not None and fits and len(graph.data_readers(root.name)) == 1:
        graph.retype(node, "Mul", node.attributes)
        graph.retype(root, "Rsqrt", root.attributes)
    return None


STAGES: tuple[Callable[[Graph, NodeDef, Properties], Endpoint | None], ...] = (
    _transpose_into_matmul,
    _reshape_for_nothing,
    _square_for_product,
    _power,
    _reciprocal_root,
)
