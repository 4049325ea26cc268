"""How a pattern of ops is looked for, and what fusing needs to know.

Told about: `core/grappler/utils/pattern_utils.cc`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tflogscope.runtime import telling
from tflogscope.runtime.function.definition import Endpoint
from tflogscope.runtime.passes.facts import COMMUTATIVE
from tflogscope.runtime.passes.graph import MutableGraph, Node
from tflogscope.runtime.passes.shapes import Properties
from tflogscope.runtime.release import since
from tflogscope.runtime.shapes import TensorShape

__all__ = ["Fusing", "Matched", "Op", "Pattern", "kept", "match", "near"]


@dataclass
class Fusing:
    """The graph, what was known of its shapes at the start, and which nodes are done with."""

    graph: MutableGraph
    properties: Properties
    onednn: bool
    done: set[str] = field(default_factory=set)
    gone: list[str] = field(default_factory=list)

    def shape(self, endpoint: Endpoint) -> TensorShape:
        """What is known of an output's shape."""
        return self.properties.shape(endpoint)

    def has_controls(self, node: Node) -> bool:
        """Is there a control edge to or from it?"""
        return bool(node.controls) or bool(self.graph.control_readers(node.name))

    def read_once(self, node: Node) -> bool:
        """Has its first output at most one reader?"""
        readers = self.graph.data_readers(node.name)
        return sum(reader.inputs[at][1] == 0 for reader, at in readers) <= 1

    def inner(self, node: Node, like: Node) -> bool:
        """Can the node vanish in a fused one: read once, without control edges, of one dtype?"""
        return (
            not self.has_controls(node)
            and self.read_once(node)
            and node.name not in self.graph.kept
            and node.dtypes[:1] == like.dtypes[:1]
        )

    def fuse(
        self,
        last: Node,
        type: str,
        inputs: Sequence[Endpoint],
        attributes: Mapping[str, Any],
        gone: Sequence[Node],
    ) -> None:
        """Let the last node be the fused one; the others go."""
        if telling.listener is not None:
            names = [node.name for node in gone]
            telling.listener.nodes_fused(last.name, last.type, type, names)
        graph = self.graph
        graph.rewire(last, inputs)
        graph.retype(last, type, attributes)
        self.done.add(last.name)
        for node in gone:
            self.done.add(node.name)
            self.gone.append(node.name)
            graph.rewire(node, [], [])


Pattern = Callable[[Fusing, Node], bool]
"""Looks whether the node is the last one of a pattern, and if so fuses it."""


@dataclass(frozen=True)
class Op:
    """One op of a pattern: its types (`Add|AddV2`, `*` for any), a label, the ops it reads.

    The same label stands for the same node. `stays`: the node remains; others go, and therefore
    must not be read from outside.
    """

    types: str
    label: str
    inputs: tuple[Op, ...] = ()
    stays: bool = False

    def allows(self, type: str) -> bool:
        """Is that one of its types?"""
        return self.types == "*" or type in self.types.split("|")

    def speaks_for(self, type: str) -> bool:
        """Is that one of its types, and named?"""
        return self.types != "*" and self.allows(type)


def kept(types: str, label: str) -> Op:
    """An op that the fused one reads."""
    return Op(types, label, stays=True)


Matched = dict[str, Node]


def match(fusing: Fusing, pattern: Op, root: Node) -> Matched | None:
    """The nodes by label, if the pattern ends in this node and its inner nodes can go."""
    found: Matched = {}
    going: set[str] = set()
    if not _fits(fusing, pattern, root, found, going):
        return None
    going.discard(root.name)
    inside = {node.name for node in found.values()}
    for name in going:
        if name in fusing.graph.kept:
            return None
        if any(reader.name not in inside for reader in fusing.graph.readers(name)):
            return None
    return found


def _fits(fusing: Fusing, pattern: Op, node: Node, found: Matched, going: set[str]) -> bool:
    if _is_held(fusing, pattern, node, is_root=not found) or not pattern.allows(node.type):
        return False
    if found.setdefault(pattern.label, node) is not node:
        return False
    if not pattern.stays:
        going.add(node.name)
    if not pattern.inputs:
        return True
    if len(node.inputs) != len(pattern.inputs):
        return False
    sources = [fusing.graph[name] for name, _ in node.inputs]
    wanted = pattern.inputs
    # NB: one look ahead: the other order is tried if an op's type speaks for it, else never.
    if (
        node.type in COMMUTATIVE | {"Add"}
        and len(wanted) == 2
        and (wanted[1].speaks_for(sources[0].type) or wanted[0].speaks_for(sources[1].type))
    ):
        wanted = wanted[::-1]
    return all(
        _fits(fusing, each, source, found, going)
        for each, source in zip(wanted, sources, strict=True)
    )


def _is_held(fusing: Fusing, pattern: Op, node: Node, *, is_root: bool) -> bool:
    """Do control edges keep the node from being matched?

    2.20 lets nodes that stay have any, and others wait for the last one; 2.16 lets there be none.
    """
    if not since(2, 17):
        return fusing.has_controls(node)
    if pattern.stays:
        return False
    return bool(node.controls) or (not is_root and bool(fusing.graph.control_readers(node.name)))


def near(node: Node, wanted: float) -> bool:
    """Is it a constant of one element near that value?"""
    value = node.attributes.get("value")
    return (
        node.type == "Const"
        and value is not None
        and np.size(value) == 1
        and abs(float(np.ravel(value)[0]) - wanted) <= 1e-2
    )
