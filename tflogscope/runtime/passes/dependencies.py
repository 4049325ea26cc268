"""Control edges that say nothing new go, and so do nodes that only hand edges on.

A node whose values nobody reads becomes a `NoOp`; a `NoOp` or an identity goes where that makes no
more edges than it saves.

Told about: `core/grappler/optimizers/dependency_optimizer.cc`.
"""

from __future__ import annotations

from tflogscope.runtime.passes.constant_edges import control_anchor
from tflogscope.runtime.passes.facts import CHANGES_FRAME, has_outputs, is_stateful
from tflogscope.runtime.passes.graph import MutableGraph, Node, topological

__all__ = ["simplify_dependencies"]

_STAYS = frozenset(
    {
        *("Assert", "CheckNumerics", "_Retval", "_Arg", "_ParallelConcatUpdate", "TPUExecute"),
        *("TPUCompile", "ControlTrigger", "Merge", "Switch", "_SwitchN"),
    }
)
_READS = frozenset({"ReadVariableOp", "_ReadVariablesOp", "ResourceGather", "ResourceGatherNd"})
"""Stateful, but not missed where nobody reads what they give: `SafeToConvertToNoOp`."""


def simplify_dependencies(graph: MutableGraph) -> None:
    """Do it twice, as TensorFlow does."""
    _clean(graph)
    for _ in range(2):
        order = topological(graph)
        if order is not None:
            graph.reorder(order)
            _reduce(graph)
        _Simplifying(graph).run()
        _clean(graph)


def _clean(graph: MutableGraph) -> None:
    """Who reads a node need not wait for it as well."""
    for node in graph:
        sources = {name for name, _ in node.inputs}
        if not sources.isdisjoint(node.controls):
            graph.rewire(node, node.inputs, [each for each in node.controls if each not in sources])


class _Simplifying:
    """The nodes still to be looked at: the last one found is the next one."""

    def __init__(self, graph: MutableGraph) -> None:
        self.graph = graph
        self.gone: set[str] = set()
        self.waiting: dict[str, None] = {}

    def run(self) -> None:
        for node in self.graph:
            if node.type in {"NoOp", "Identity", "IdentityN", "Const"} or self._can_be_no_op(node):
                self.waiting[node.name] = None
        while self.waiting:
            name, _ = self.waiting.popitem()
            if name not in self.gone:
                self._look_at(self.graph[name])
        for name in self.gone:
            self.graph.remove(name)

    def _look_at(self, node: Node) -> None:
        graph = self.graph
        if node.type == "Const" and not node.controls:
            self._release_waiters(node)
        elif node.type != "NoOp" and self._can_be_no_op(node):
            anchors = [control_anchor(graph, endpoint) for endpoint in node.inputs]
            for source, _ in node.inputs:
                self._again(source)
            graph.rewire(node, [], [*anchors, *node.controls])
            graph.retype(node, "NoOp", {})
            node.dtypes = ()
            self._again(node.name)
        elif node.type == "NoOp" or (
            node.type in {"Identity", "IdentityN"} and self._identity_can_go(node)
        ):
            self._bypass(node)

    def _again(self, name: str) -> None:
        if name not in self.gone:
            self.waiting.setdefault(name, None)

    def _release_waiters(self, node: Node) -> None:
        """A constant is there before anything runs: nobody needs to wait for it."""
        for reader in self.graph.control_readers(node.name):
            self.graph.remove_control(reader, node.name)
            self._again(reader.name)
        if not self.graph.readers(node.name) and node.name not in self.graph.kept:
            self.gone.add(node.name)

    def _can_be_no_op(self, node: Node) -> bool:
        graph = self.graph
        if node.name in graph.kept or node.type in _STAYS | CHANGES_FRAME:
            return False
        if node.type not in _READS and (is_stateful(node.type) or not has_outputs(node.type)):
            return False
        if graph.data_readers(node.name):
            return False
        return node.type not in {"Identity", "IdentityN"} or self._identity_can_go(node)

    def _identity_can_go(self, node: Node) -> bool:
        graph = self.graph
        if node.name in graph.kept or not node.inputs:
            return False
        source = graph.source(node, 0)
        if source.type in {"VariableV2", "_Recv", "_HostRecv"}:
            return False
        several = len(node.inputs) + len(node.controls) > 1
        for reader in graph.readers(node.name):
            if several and reader.type in {"_Retval", "Merge"}:
                return False
            if source.type in {"Switch", "_SwitchN"} and node.name in reader.controls:
                return False
        return True

    def _bypass(self, node: Node) -> None:
        graph = self.graph
        readers = graph.readers(node.name)
        if self._edges_without(node, readers) > len(node.inputs) + len(node.controls) + len(
            readers
        ):
            return
        for reader in readers:
            waits = [name for name in reader.controls if name != node.name]
            inputs = [
                node.inputs[output] if name == node.name else (name, output)
                for name, output in reader.inputs
            ]
            if node.name in reader.controls and node.inputs:
                waits += [source for source, _ in node.inputs]
            known = {name for name, _ in inputs}
            for name in node.controls:
                if name not in known and name not in waits:
                    waits.append(name)
                    self._again(name)
            graph.rewire(reader, inputs, waits)
            self._again(reader.name)
        if node.name not in graph.kept:
            graph.rewire(node, [], [])
            self.gone.add(node.name)

    @staticmethod
    def _edges_without(node: Node, readers: list[Node]) -> int:
        fanins = len(node.inputs) + len(node.controls)
        if node.type != "IdentityN" or len(node.inputs) == 1:
            return fanins * len(readers)
        edges = len(node.inputs) + len(node.controls) * len(readers)
        for reader in readers:
            edges += sum(name == node.name for name, _ in reader.inputs)
            edges += fanins * (node.name in reader.controls)
        return edges


def _reduce(graph: MutableGraph) -> None:
    """A control edge goes if there is another, longer way; the graph is sorted."""
    nodes = list(graph.nodes.values())
    outputs, controlled = _edges(graph, nodes)
    for source, targets in enumerate(controlled):
        if targets:
            farther = _farther(outputs, source, max(targets))
            for target in targets:
                if target in farther:
                    graph.remove_control(nodes[target], nodes[source].name)


def _edges(graph: MutableGraph, nodes: list[Node]) -> tuple[list[list[int]], list[list[int]]]:
    """For each node who follows it, and who only waits for it; without edges into and out of loops,
    and those from a Merge, of which nobody knows which way they come.
    """
    index = {node.name: at for at, node in enumerate(nodes)}
    outputs: list[list[int]] = [[] for _ in nodes]
    controlled: list[list[int]] = [[] for _ in nodes]
    left_out = CHANGES_FRAME | {"Merge"}
    for at, node in enumerate(nodes):
        if node.type in CHANGES_FRAME:
            continue
        for name in (*(source for source, _ in node.inputs), *node.controls):
            if graph[name].type not in left_out:
                outputs[index[name]].append(at)
        for name in node.controls:
            if graph[name].type not in left_out:
                controlled[index[name]].append(at)
    return outputs, controlled


def _farther(outputs: list[list[int]], source: int, last: int) -> set[int]:
    """The nodes up to `last` that can be reached from `source` over another node, or twice."""
    waiting = [at for at in outputs[source] if at <= last]
    seen = set(waiting)
    found = {at for at in seen if waiting.count(at) > 1}
    while waiting:
        for reader in outputs[waiting.pop()]:
            if reader <= last:
                found.add(reader)
                if reader not in seen:
                    seen.add(reader)
                    waiting.append(reader)
    return found
