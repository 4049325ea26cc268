"""The graph that passes rewrite: nodes by name, and who reads whom. See
`core/grappler/mutable_graph_view.cc`, `core/grappler/utils/topological_sort.cc`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from types import SimpleNamespace
from typing import Any

from tflogscope.runtime.core.dtypes import int32
from tflogscope.runtime.core.graph import Endpoint, FunctionDef, NodeDef
from tflogscope.runtime.core.registry import lookup, registered
from tflogscope.runtime.core.shapes import UNKNOWN, TensorShape
from tflogscope.runtime.core.tensors import CPU, SymbolicTensor

Place = tuple[NodeDef, int]
"""A node, and which of its inputs."""


class Graph:
    """The nodes of a function. `kept` names those that must stay, and keep their meaning."""

    def __init__(self, nodes: Iterable[NodeDef], kept: Collection[str]) -> None:
        self.nodes: dict[str, NodeDef] = {}
        self.kept = frozenset(kept)
        self._readers: dict[str, set[str]] = {}
        for node in nodes:
            self.add(node)

    @classmethod
    def of(cls, definition: FunctionDef) -> Graph:
        """That of a function: its results stay, and what has side effects."""
        names = {node.name for node in definition.nodes}
        arguments = {node.name for node in definition.nodes if node.type == "_Arg"}
        for node in definition.nodes:
            # sorted, as when a graph is written out: `Graph::ToGraphDefSubRange`
            node.controls = sorted(set(node.controls) - arguments)
            node.device = node.device or CPU
        kept = {node.name for node in definition.nodes if node.type in {"_Retval", "_Send"}}
        return cls(definition.nodes, kept | (set(definition.must_run) & names))

    def __iter__(self) -> Iterator[NodeDef]:
        return iter(list(self.nodes.values()))

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, name: str) -> bool:
        return name in self.nodes

    def __getitem__(self, name: str) -> NodeDef:
        return self.nodes[name]

    # -- who reads whom

    def readers(self, name: str) -> list[NodeDef]:
        """The nodes that read this one, or wait for it, by name."""
        return [self.nodes[reader] for reader in sorted(self._readers.get(name, ()))]

    def data_readers(self, name: str, output: int | None = None) -> list[Place]:
        """Where it is an input; of one output only, if that is given."""
        return [
            (reader, place)
            for reader in self.readers(name)
            for place, (source, which) in enumerate(reader.inputs)
            if source == name and output in {None, which}
        ]

    def control_readers(self, name: str) -> list[NodeDef]:
        """The nodes that wait for it."""
        return [reader for reader in self.readers(name) if name in reader.controls]

    def source(self, node: NodeDef, place: int) -> NodeDef:
        """The node that gives this input."""
        return self.nodes[node.inputs[place][0]]

    # -- changes

    def add(self, node: NodeDef) -> NodeDef:
        """One more node."""
        assert node.name not in self.nodes, node.name
        self.nodes[node.name] = node
        for name in fanin(node):
            self._readers.setdefault(name, set()).add(node.name)
        return node

    def remove(self, name: str) -> None:
        """One less."""
        for source in fanin(self.nodes.pop(name)):
            self._readers[source].discard(name)

    def keep_only(self, names: Collection[str]) -> None:
        """Remove all others."""
        for name in [name for name in self.nodes if name not in names]:
            self.remove(name)

    def reorder(self, names: Sequence[str]) -> None:
        """The same nodes in this order."""
        self.nodes = {name: self.nodes[name] for name in names}

    def rewire(
        self, node: NodeDef, inputs: Iterable[Endpoint], controls: Iterable[str] | None = None
    ) -> None:
        """Give it other inputs, and perhaps other nodes to wait for, but for those that it reads."""
        for name in fanin(node):
            self._readers[name].discard(node.name)
        node.inputs = list(inputs)
        read = {name for name, _ in node.inputs}
        waits = dict.fromkeys(node.controls if controls is None else controls)
        node.controls = [name for name in waits if name not in read]
        for name in fanin(node):
            self._readers.setdefault(name, set()).add(node.name)

    def set_input(self, node: NodeDef, place: int, endpoint: Endpoint) -> None:
        """Another input at this place."""
        self.rewire(node, [*node.inputs[:place], endpoint, *node.inputs[place + 1 :]])

    def remove_control(self, node: NodeDef, name: str) -> None:
        """Let it no longer wait for that node."""
        self.rewire(node, node.inputs, [each for each in node.controls if each != name])

    def retype(self, node: NodeDef, type: str, attributes: Mapping[str, Any]) -> None:
        """Make it another op."""
        node.type, node.attributes = type, dict(attributes)

    def replace_output(self, old: Endpoint, new: Endpoint) -> None:
        """Whoever reads the one reads the other."""
        for reader, place in self.data_readers(*old):
            self.set_input(reader, place, new)

    def redirect(self, reader: NodeDef, old: str, new: str) -> None:
        """Let `reader` read `new` wherever it read, or waited for, `old`."""
        inputs = [(new if name == old else name, output) for name, output in reader.inputs]
        self.rewire(reader, inputs, [new if name == old else name for name in reader.controls])

    def constant(
        self, name: str, value: Any, dtype: Any, device: str, after: Iterable[str] = ()
    ) -> NodeDef:
        """A new Const, which waits for these nodes."""
        attributes = {"value": value, "dtype": dtype}
        return self.add(NodeDef(name, "Const", [], list(after), attributes, device, (dtype,)))


def fanin(node: NodeDef) -> list[str]:
    """The nodes that it reads or waits for."""
    return [*(name for name, _ in node.inputs), *node.controls]


def is_stateful(type: str) -> bool:
    """Does it do more than compute? An unknown op may."""
    return type in {"_Arg", "_Retval"} or not registered(type) or lookup(type).stateful


def topological(graph: Graph) -> list[str]:
    """The names, each after those that it reads; a loop begins where it is entered."""
    before = {
        node.name: [
            name
            for name in fanin(node)
            if not (node.type == "Merge" and graph[name].type == "NextIteration")
        ]
        for node in graph
    }
    return list(TopologicalSorter(before).static_order())


def prune(graph: Graph) -> None:
    """Keep what is needed, in the reverse of the order in which it is met: `SetTransitiveFaninGraph`
    of `core/grappler/utils/transitive_fanin.cc`. NB: identities that nobody misses go in dependencies.py.
    """
    met: dict[str, None] = {}
    waiting = sorted(graph.kept)
    while waiting:
        name = waiting.pop()
        if name not in met:
            met[name] = None
            waiting += fanin(graph[name])
    graph.keep_only(met)
    graph.reorder(list(reversed(met)))


# What is known of shapes in a graph: the shape rules of all ops, node by node. See
# `core/grappler/costs/graph_properties.cc`. NB: TensorFlow gives a size that is not known a number of
# its own; here two sizes that nobody knows count as the same one.

_HANDS_ON = frozenset({"Switch", "Enter", "Identity"})


class Properties:
    """The shapes in a graph, as it is when this is made."""

    def __init__(self, graph: Graph) -> None:
        self._tensors: dict[str, list[SymbolicTensor]] = {}
        for name in topological(graph):
            self._tensors[name] = self._outputs(graph[name])

    def shape(self, endpoint: Endpoint) -> TensorShape:
        """What is known of that output's shape."""
        found: TensorShape = self._tensor(endpoint).shape
        return found

    def same_shape(self, one: Endpoint, other: Endpoint) -> bool:
        """Have they the same dimensions?"""
        dims = self.shape(one).dims
        return dims is not None and dims == self.shape(other).dims

    def _tensor(self, endpoint: Endpoint) -> SymbolicTensor:
        found = self._tensors.get(endpoint[0], ())
        if endpoint[1] < len(found):
            return found[endpoint[1]]
        return SymbolicTensor(None, -1, int32, UNKNOWN)  # it comes round a loop, or is new

    def _outputs(self, node: NodeDef) -> list[SymbolicTensor]:
        op: Any = SimpleNamespace(type=node.type, attributes=node.attributes)
        op.inputs = [self._tensor(endpoint) for endpoint in node.inputs]
        specs = self._specs(node, op.inputs)
        outputs = []
        for place, dtype in enumerate(node.dtypes):
            shape, handle = specs[place] if place < len(specs) else (UNKNOWN, None)
            outputs.append(SymbolicTensor(op, place, dtype, shape))
            outputs[-1].handle_data = handle
        return outputs

    @staticmethod
    def _specs(node: NodeDef, inputs: list[SymbolicTensor]) -> list[tuple[TensorShape, Any]]:
        if node.type == "_Arg":
            return [(node.shape, node.handle_data)]
        if not registered(node.type):
            return []
        try:
            found = node.definition.infer(inputs, node.attributes)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return []
        handles = [each[2] if len(each) > 2 else None for each in found]
        if node.type in _HANDS_ON:
            handles = [inputs[0].handle_data] * len(found)
        return [(each[1], handle) for each, handle in zip(found, handles, strict=True)]
