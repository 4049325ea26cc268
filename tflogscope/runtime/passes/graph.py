"""A function's graph while the passes work on it: nodes by name, and who reads what.

Grappler's passes see a list of nodes that name their inputs (`GraphDef`); the order of that list
matters to them. Every change of an edge goes through the methods here, so that the readers of a
node can be asked for at any time.

Told about: `NodeMap` and `MutableGraphView` of `core/grappler`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.function.definition import Endpoint, Origin
from tflogscope.runtime.tensors import HandleData

__all__ = ["MutableGraph", "Node", "depth_first", "input_text", "topological"]


@dataclass(slots=True, eq=False)
class Node:
    """One node; its edges are changed by the methods of its graph only."""

    name: str
    type: str
    inputs: list[Endpoint] = field(default_factory=list)
    controls: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    device: str = ""
    dtypes: tuple[DType, ...] = ()
    handles: HandleData | None = None
    """Of an argument that is a resource: what it leads to."""
    origin: Origin | None = None

    def copy(self, name: str) -> Node:
        """A node like it, with another name; not yet in any graph."""
        return Node(
            name,
            self.type,
            list(self.inputs),
            list(self.controls),
            dict(self.attributes),
            self.device,
            self.dtypes,
            self.handles,
            self.origin,
        )


class MutableGraph:
    """The nodes in their order, and the edges both ways."""

    def __init__(
        self,
        nodes: Iterable[Node],
        kept: Collection[str],
        name: str = "",
        fetched: Collection[str] = (),
    ) -> None:
        """`kept`: what no pass may remove or rename, the results and what has to run for itself.
        `fetched`: those of them whose value a session asks for.
        """
        self.name = name
        self.nodes: dict[str, Node] = {}
        self.kept = frozenset(kept)
        self.fetched = frozenset(fetched)
        self._readers: dict[str, dict[str, int]] = {}
        for node in nodes:
            self.add(node)

    def __iter__(self) -> Iterator[Node]:
        return iter(list(self.nodes.values()))

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, name: str) -> bool:
        return name in self.nodes

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    def copy(self) -> MutableGraph:
        """Another graph with nodes like these."""
        nodes = (node.copy(node.name) for node in self)
        return MutableGraph(nodes, self.kept, self.name, self.fetched)

    # -- who reads whom --------------------------------------------------------------------------

    def readers(self, name: str) -> list[Node]:
        """The nodes with an edge from that node, by name."""
        readers = self._readers.get(name)
        return [self.nodes[reader] for reader in sorted(readers)] if readers else []

    def data_readers(self, name: str) -> list[tuple[Node, int]]:
        """The inputs that take an output of that node: which node, which place."""
        return [
            (reader, place)
            for reader in self.readers(name)
            for place, (source, _) in enumerate(reader.inputs)
            if source == name
        ]

    def control_readers(self, name: str) -> list[Node]:
        """The nodes that only wait for it, or wait for it too."""
        return [reader for reader in self.readers(name) if name in reader.controls]

    def source(self, node: Node, place: int) -> Node:
        """The node whose output that input is."""
        return self.nodes[node.inputs[place][0]]

    # -- changes ---------------------------------------------------------------------------------

    def add(self, node: Node) -> Node:
        """Put it at the end. Raises ValueError if the name is taken."""
        if node.name in self.nodes:
            raise ValueError(f"two nodes are called {node.name}")
        self.nodes[node.name] = node
        self._count(node, 1)
        return node

    def remove(self, name: str) -> None:
        """Take it out; nobody may read it any more by the time the pass ends."""
        self._count(self.nodes.pop(name), -1)

    def keep_only(self, names: Collection[str]) -> None:
        """Take all others out."""
        for name in [name for name in self.nodes if name not in names]:
            self.remove(name)

    def erase(self, names: Collection[str]) -> None:
        """Take these out as TensorFlow does it: from the last on, each changes places with the last
        node that is still there. Told about: `EraseNodesFromGraph` of `core/grappler/utils.cc`.
        """
        order = list(self.nodes)
        last = len(order) - 1
        for at in range(last, -1, -1):
            if order[at] in names:
                order[at], order[last] = order[last], order[at]
                last -= 1
        self.reorder(order)
        for name in order[last + 1 :]:
            self.remove(name)

    def reorder(self, names: Sequence[str]) -> None:
        """Put the nodes in this order; `names` has all of them."""
        self.nodes = {name: self.nodes[name] for name in names}

    def rewire(
        self, node: Node, inputs: Iterable[Endpoint], controls: Iterable[str] | None = None
    ) -> None:
        """Give it these inputs; and controls, each once, if told."""
        self._count(node, -1)
        node.inputs = list(inputs)
        if controls is not None:
            node.controls = list(dict.fromkeys(controls))
        self._count(node, 1)

    def set_input(self, node: Node, place: int, endpoint: Endpoint) -> None:
        """Let that input come from there."""
        inputs = list(node.inputs)
        inputs[place] = endpoint
        self.rewire(node, inputs)

    def add_control(self, node: Node, name: str) -> None:
        """Let it wait for that node, if it doesn't already depend on it."""
        if name not in node.controls and all(source != name for source, _ in node.inputs):
            self.rewire(node, node.inputs, [*node.controls, name])

    def remove_control(self, node: Node, name: str) -> None:
        """Let it not wait for that node."""
        if name in node.controls:
            self.rewire(node, node.inputs, [each for each in node.controls if each != name])

    def retype(self, node: Node, type: str, attributes: Mapping[str, Any]) -> None:
        """Make it another op, under its name and with its edges."""
        node.type = type
        node.attributes = dict(attributes)

    def replace_output(self, old: Endpoint, new: Endpoint) -> None:
        """Let who reads the one output read the other."""
        for reader, place in self.data_readers(old[0]):
            if reader.inputs[place] == old:
                self.set_input(reader, place, new)

    def unique_name(self, name: str) -> str:
        """That name, or with `_1`, `_2`, … after it."""
        number, unique = 0, name
        while unique in self.nodes:
            number += 1
            unique = f"{name}_{number}"
        return unique

    def _count(self, node: Node, step: int) -> None:
        for source in (*(name for name, _ in node.inputs), *node.controls):
            readers = self._readers.setdefault(source, {})
            count = readers.get(node.name, 0) + step
            if count:
                readers[node.name] = count
            else:
                del readers[node.name]


def input_text(endpoint: Endpoint) -> str:
    """An input as a `NodeDef` writes it: `add`, `split:1`."""
    name, output = endpoint
    return f"{name}:{output}" if output else name


def topological(graph: MutableGraph) -> list[str] | None:
    """The names such that each comes after those it waits for; None if there is a cycle.

    The back edges of loops don't count. Told about: `core/grappler/utils/topological_sort.cc`; its
    order, too, because the first of equal nodes is the one that stays.
    """
    nodes = list(graph.nodes.values())
    index = {node.name: at for at, node in enumerate(nodes)}
    fanins = [
        {index[name] for name in (*(source for source, _ in node.inputs), *node.controls)}
        for node in nodes
    ]
    fanouts: list[list[int]] = [[] for _ in nodes]
    for at, sources in enumerate(fanins):
        for source in sources:
            fanouts[source].append(at)
    ready_inputs = [0] * len(nodes)
    ready = [at for at, sources in enumerate(fanins) if not sources]
    for at, node in enumerate(nodes):
        if node.type == "Merge":
            ready_inputs[at] = sum(nodes[source].type == "NextIteration" for source in fanins[at])
    for at in ready:  # it grows
        for reader in sorted(fanouts[at]):
            ready_inputs[reader] += 1
            if ready_inputs[reader] == len(fanins[reader]):
                ready.append(reader)
    if len(ready) < len(nodes):
        return None
    return [nodes[at].name for at in ready]


def depth_first(graph: MutableGraph) -> list[str]:
    """The names such that each comes after those it waits for, in another order: that of a search
    into the depth, from the last node without inputs on.

    The back edges of loops don't count. Told about: `MutableGraphView::SortTopologically` of
    `core/grappler/utils/graph_view.cc`.
    """
    followers: dict[str, dict[int, list[str]]] = {name: {} for name in graph.nodes}
    for node in graph:
        for source, output in node.inputs:
            followers[source].setdefault(output, []).append(node.name)
        for source in node.controls:
            followers[source].setdefault(_AFTER_OUTPUTS, []).append(node.name)
    left: list[str] = []
    entered: set[str] = set()
    for root in reversed(list(graph)):
        stack = [(root.name, True)] if not root.inputs and not root.controls else []
        while stack:
            name, enters = stack.pop()
            if not enters:
                left.append(name)
            elif name not in entered:
                entered.add(name)
                stack.append((name, False))
                for _, readers in sorted(followers[name].items()):
                    stack += [
                        (reader, True)
                        for reader in readers
                        if reader not in entered and not _goes_back(graph, name, reader)
                    ]
    return left[::-1]


_AFTER_OUTPUTS = 1 << 30


def _goes_back(graph: MutableGraph, source: str, reader: str) -> bool:
    return graph[source].type == "NextIteration" and graph[reader].type == "Merge"
