"""Nodes that compute the same become one, which Grappler does and the runtime once more before a
function runs. See `core/grappler/optimizers/common_subgraph_elimination.cc`,
`core/graph/optimizer_cse.cc`. NB: once in the order of the graph, and not until nothing changes.
"""

from __future__ import annotations

from collections.abc import Hashable

from tflogscope.runtime.core.definition import NodeDef
from tflogscope.runtime.core.eager import frozen
from tflogscope.runtime.passes.graph import Graph, is_stateful, topological

_COMMUTATIVE = frozenset(
    "AddN AddV2 Equal LogicalAnd LogicalOr Maximum Minimum Mul NotEqual SquaredDifference".split()
)


def merge_duplicates(graph: Graph) -> bool:
    """Keep the first of those that are equal. Was there another?"""
    first: dict[Hashable, NodeDef] = {}
    merged = False
    for name in topological(graph):
        node = graph[name]
        if is_stateful(node.type) or name in graph.kept:
            continue
        other = first.setdefault(_signature(node), node)
        if other is not node:
            for reader in graph.readers(name):
                graph.redirect(reader, name, other.name)
            graph.remove(name)
            merged = True
    return merged


def _signature(node: NodeDef) -> Hashable:
    inputs = sorted(node.inputs) if node.type in _COMMUTATIVE else node.inputs
    attributes = tuple(
        (name, type(value).__name__, _value_text(value))
        for name, value in sorted(node.attributes.items())
    )
    edges = (*inputs, *sorted(node.controls))
    return node.type, node.device, edges, attributes, node.dtypes


def _value_text(value: object) -> str:
    found = frozen(value)
    return str(found if isinstance(found, Hashable) else id(found))
