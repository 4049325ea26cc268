"""What the arithmetic rewrites work with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.function.definition import Endpoint
from tflogscope.runtime.passes.graph import MutableGraph, Node
from tflogscope.runtime.passes.numbering import is_number, numbers_of
from tflogscope.runtime.passes.shapes import Properties
from tflogscope.runtime.shapes import UNKNOWN, TensorShape

__all__ = ["Rewrite", "Work", "broadcasts", "is_smaller"]


_ASKING_FOR_SHAPE = frozenset({"Rank", "Shape", "ShapeN", "Size"})


class Work:
    """A graph, what is known of its shapes, and the nodes still to be looked at."""

    def __init__(self, graph: MutableGraph) -> None:
        self.graph = graph
        self.waiting = dict.fromkeys(graph.nodes)
        self.fused: set[str] = set()
        self.hoisted: set[str] = set()
        self._properties = Properties(graph)
        self._forgotten: set[str] = set()

    def again(self, *nodes: Node) -> None:
        """Look at these (once more)."""
        for node in nodes:
            self.waiting.setdefault(node.name, None)

    def replace(self, node: Node, better: Endpoint) -> None:
        """Let who reads the node read that instead, and look at all of them."""
        graph = self.graph
        self.again(graph[better[0]])
        for reader in graph.readers(node.name):
            self.let_read(reader, node.name, better)
            self.again(reader)

    def let_read(self, reader: Node, old: str, new: Endpoint) -> None:
        """Let it read, or wait for, the other node."""
        self.graph.rewire(
            reader,
            [new if name == old else (name, output) for name, output in reader.inputs],
            [new[0] if name == old else name for name in reader.controls],
        )

    def add(
        self,
        name: str,
        type: str,
        inputs: Iterable[Endpoint],
        dtype: DType,
        device: str,
        **attributes: Any,
    ) -> Node:
        """A new node with one output."""
        node = Node(name, type, list(inputs), [], attributes, device, (dtype,))
        return self.graph.add(node)

    def constant(
        self, name: str, value: NDArray[Any], dtype: DType, device: str, after: str = ""
    ) -> Node:
        """A new constant, which is looked at too."""
        attributes = {"value": value, "dtype": dtype}
        controls = [after] if after else []
        node = self.graph.add(Node(name, "Const", [], controls, attributes, device, (dtype,)))
        self.again(node)
        return node

    def wait_as(self, node: Node, *others: Node) -> None:
        """Let it wait for what these waited for."""
        for other in others:
            for name in other.controls:
                self.graph.add_control(node, name)

    # -- what is known ---------------------------------------------------------------------------

    def shape(self, endpoint: Endpoint) -> TensorShape:
        """The shape of that output, of nodes that were there from the start."""
        if endpoint[0] in self._forgotten:
            return UNKNOWN
        return self._properties.shape(endpoint)

    def forget(self, node: Node) -> None:
        """It is not what it was."""
        self._forgotten.add(node.name)

    def constant_value(self, endpoint: Endpoint) -> NDArray[Any] | None:
        """The value of a constant; None for what is no constant."""
        source = self.graph[endpoint[0]]
        return source.attributes["value"] if source.type == "Const" else None

    def is_all(self, endpoint: Endpoint, wanted: float) -> bool:
        """Is it a constant with only that value in it?"""
        value = self.constant_value(endpoint)
        return value is not None and value.dtype != object and bool(np.all(value == wanted))

    def only_reader(self, node: Node) -> bool:
        """Does one input read it, and none besides?"""
        return len(self.graph.data_readers(node.name)) == 1

    def only_user(self, node: Node) -> bool:
        """Does one input use its value? Asking for the shape is no use of it
        (`NumNonControlDataOutputs`).
        """
        readers = (reader.type for reader, _ in self.graph.data_readers(node.name))
        return sum(type not in _ASKING_FOR_SHAPE for type in readers) == 1

    def is_controlled(self, node: Node) -> bool:
        """Is there a control edge to it or from it?"""
        return bool(node.controls) or bool(self.graph.control_readers(node.name))

    def kept(self, node: Node) -> bool:
        """Must it stay as it is?"""
        return node.name in self.graph.kept

    @staticmethod
    def name(node: Node, stage: str, suffix: str = "") -> str:
        """What a stage calls a node that it makes for another."""
        scope, _, name = node.name.rpartition("/")
        middle = f"{stage}_{suffix}_{name}" if suffix else f"{stage}_{name}"
        return f"{scope}/ArithmeticOptimizer/{middle}" if scope else f"ArithmeticOptimizer/{middle}"


Rewrite = Callable[[Work, Node], Endpoint | None]
"""Finds what can stand for the node's output, the node itself if it has only changed; or changes
it and says nothing: then the next stage has a look.
"""


def is_smaller(one: TensorShape, other: TensorShape) -> bool:
    """Has a tensor of the one shape fewer elements for sure? `symbolic_shapes.cc`."""
    dims, others = numbers_of(one), numbers_of(other)
    if dims is None or others is None:
        return False
    size, other_size = (prod(dim for dim in each if not is_number(dim)) for each in (dims, others))
    unknown, other_unknown = (Counter(filter(is_number, each)) for each in (dims, others))
    if unknown == other_unknown:
        return size < other_size
    return unknown < other_unknown and size <= other_size


def broadcasts(shape: TensorShape, other: TensorShape) -> bool:
    """Do they go together for sure?"""
    one, two = numbers_of(shape), numbers_of(other)
    if one is None or two is None:
        return False
    return all(a == b or 1 in {a, b} for a, b in zip(reversed(one), reversed(two), strict=False))
