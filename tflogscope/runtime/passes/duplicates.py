"""Nodes that compute the same become one. See
`core/grappler/optimizers/common_subgraph_elimination.cc`; `optimize_cse.cc` of the runtime, which
does it once more before a function runs.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tflogscope.runtime.core.definition import NodeDef
from tflogscope.runtime.core.eager import frozen
from tflogscope.runtime.passes.graph import Graph, is_stateful, topological

COMMUTATIVE = frozenset(
    (
        "AccumulateNV2 AddN AddV2 ApproximateEqual BitwiseAnd BitwiseOr BitwiseXor Equal LogicalAnd "
        "LogicalOr Maximum Minimum Mul NotEqual SquaredDifference"
    ).split()
)
_ALWAYS = frozenset({"Assert", "Print", "PrintV2"})


def remove_duplicates(graph: Graph) -> None:
    """Grappler's: until nothing changes any more."""
    graph.reorder(topological(graph) or list(graph.nodes))
    for node in graph:
        _sort_edges(node, graph)
    able = [node for node in graph if _can_be_merged(node, graph)]
    signatures: dict[str, Hashable] = {}
    first: dict[Hashable, NodeDef] = {}
    gone: set[str] = set()
    changed = True
    while changed:
        changed = False
        for node in able:
            if node.name in gone:
                continue
            signature = signatures.setdefault(node.name, _signature(node))
            other = first.setdefault(signature, node)
            if other is node:
                continue
            for reader in graph.readers(node.name):
                if first.get(signatures.get(reader.name)) is reader:
                    del first[signatures[reader.name]]
                signatures.pop(reader.name, None)
                graph.redirect(reader, node.name, other.name)
                _sort_edges(reader, graph)
            gone.add(node.name)
            changed = True
    graph.erase(gone)


def _can_be_merged(node: NodeDef, graph: Graph) -> bool:
    if node.name in graph.kept or node.type in {"Enter", "Exit"}:
        return False
    return node.type in _ALWAYS or not is_stateful(node.type)


def _sort_edges(node: NodeDef, graph: Graph) -> None:
    if len(node.inputs) + len(node.controls) >= 2:
        texts = {each: f"{each[0]}:{each[1]}" if each[1] else each[0] for each in node.inputs}
        swaps = node.type in COMMUTATIVE
        inputs = sorted(node.inputs, key=texts.__getitem__) if swaps else node.inputs
        graph.rewire(node, inputs, sorted(set(node.controls)))


def _signature(node: NodeDef) -> Hashable:
    shown = sorted(
        (name, type(value).__name__, _value(value)) for name, value in node.attributes.items()
    )
    return node.type, node.device, tuple(node.inputs), tuple(node.controls), tuple(shown)


def _value(value: Any) -> str:
    found = frozen(value)
    return str(found if isinstance(found, Hashable) else id(found))


def merge_at_runtime(graph: Graph) -> bool:
    """The runtime's: once, in the order of the graph."""
    first: dict[Hashable, NodeDef] = {}
    merged = False
    for name in topological(graph) or ():
        node = graph[name]
        if is_stateful(node.type) or name in graph.kept:
            continue
        alike = node.copy(name)
        alike.controls = sorted(node.controls)
        if node.type in COMMUTATIVE:
            alike.inputs = sorted(node.inputs)
        other = first.setdefault((_signature(alike), node.dtypes), node)
        if other is not node:
            for reader in graph.readers(name):
                graph.redirect(reader, name, other.name)
            graph.remove(name)
            merged = True
    return merged
