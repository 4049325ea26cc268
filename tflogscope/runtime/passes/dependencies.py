"""The dependency optimizer: what only others wait for need not compute, and a path that is given
anyway needs no edge. See `core/grappler/optimizers/dependency_optimizer.cc`.
"""

from __future__ import annotations

from collections.abc import Hashable

from tflogscope.runtime.core.eager import frozen
from tflogscope.runtime.core.graph import NodeDef
from tflogscope.runtime.core.registry import lookup
from tflogscope.runtime.passes.graph import Graph, fanin, is_stateful, topological

CHANGES_FRAME = frozenset({"Enter", "Exit", "NextIteration"})
_STAYS = CHANGES_FRAME | frozenset("Assert CheckNumerics _Retval _Arg Merge Switch".split())
_READS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd"})
_IDENTITIES = frozenset({"Identity", "IdentityN"})


def simplify_dependencies(graph: Graph) -> None:
    """Drop edges, and nodes that only hand on."""
    for _ in range(2):
        graph.reorder(topological(graph))
        _reduce(graph)
        _Simplifying(graph).run()


class _Simplifying:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.gone: set[str] = set()
        self.waiting: dict[str, None] = {}

    def run(self) -> None:
        """Look at each node, and again at those around one that changed."""
        for node in self.graph:
            if node.type in _IDENTITIES | {"NoOp", "Const"} or self._can_be_no_op(node):
                self.waiting[node.name] = None
        while self.waiting:
            name, _ = self.waiting.popitem()
            if name not in self.gone:
                self._look_at(self.graph[name])
        for name in self.gone:
            self.graph.remove(name)

    def _look_at(self, node: NodeDef) -> None:
        graph = self.graph
        if node.type == "Const" and not node.controls:
            self._release_waiters(node)
        elif node.type != "NoOp" and self._can_be_no_op(node):
            self._again(*(source for source, _ in node.inputs), node.name)
            graph.rewire(node, [], fanin(node))
            graph.retype(node, "NoOp", {})
            node.dtypes = ()
        elif node.type == "NoOp" or (node.type in _IDENTITIES and self._identity_can_go(node)):
            self._bypass(node)

    def _again(self, *names: str) -> None:
        for name in names:
            if name not in self.gone:
                self.waiting.setdefault(name, None)

    def _release_waiters(self, node: NodeDef) -> None:
        for reader in self.graph.control_readers(node.name):
            self.graph.remove_control(reader, node.name)
            self._again(reader.name)
        if not self.graph.readers(node.name) and node.name not in self.graph.kept:
            self.gone.add(node.name)

    def _can_be_no_op(self, node: NodeDef) -> bool:
        """Does nobody read what it gives, and does it do nothing else?"""
        if node.name in self.graph.kept or node.type in _STAYS:
            return False
        gives = bool(lookup(node.type).outputs)
        if node.type not in _READS and (is_stateful(node.type) or not gives):
            return False
        if self.graph.data_readers(node.name):
            return False
        return node.type not in _IDENTITIES or self._identity_can_go(node)

    def _identity_can_go(self, node: NodeDef) -> bool:
        graph = self.graph
        if node.name in graph.kept or not node.inputs:
            return False
        source = graph.source(node, 0).type
        if source == "_Recv":
            return False
        several = len(node.inputs) + len(node.controls) > 1
        return not any(
            (several and reader.type in {"_Retval", "Merge"})
            or (source == "Switch" and node.name in reader.controls)
            for reader in graph.readers(node.name)
        )

    def _bypass(self, node: NodeDef) -> None:
        """Let its readers read, and wait for, what it does, unless that makes more edges."""
        graph, readers = self.graph, self.graph.readers(node.name)
        sources = [source for source, _ in node.inputs]
        before, edges = len(sources) + len(node.controls) + len(readers), 0
        for reader in readers:
            edges += [source for source, _ in reader.inputs].count(node.name) + len(node.controls)
            edges += len(sources) * (node.name in reader.controls)
        if edges > before:
            return
        for reader in readers:
            waits = [name for name in reader.controls if name != node.name]
            waits += sources if node.name in reader.controls else []
            inputs = [
                node.inputs[at] if name == node.name else (name, at) for name, at in reader.inputs
            ]
            graph.rewire(reader, inputs, [*waits, *node.controls])
            self._again(*node.controls, reader.name)
        if node.name not in graph.kept:
            graph.rewire(node, [], [])
            self.gone.add(node.name)


def _reduce(graph: Graph) -> None:
    """A node need not wait for one that it comes after anyway (`TransitiveReduction`)."""
    before: dict[str, set[str]] = {}
    for node in graph:
        sources = fanin(node)
        farther: set[str] = set()
        if node.type not in CHANGES_FRAME | {"Merge"}:
            farther = farther.union(*(before[name] for name in sources))
            for name in farther.intersection(node.controls):
                graph.remove_control(node, name)
            before[node.name] = farther.union(sources)
        else:  # what is before a loop is not in its frame
            before[node.name] = set()


# Nodes that compute the same become one, which Grappler does and the runtime once more before a
# function runs. See `core/grappler/optimizers/common_subgraph_elimination.cc`,
# `core/graph/optimizer_cse.cc`. NB: once in the order of the graph, and not until nothing changes.

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
