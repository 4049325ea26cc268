"""Constants as nodes: making them, reading them, and putting them in other nodes' places."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.passes.constant_edges import control_anchor
from tflogscope.runtime.passes.graph import MutableGraph, Node

__all__ = [
    "all_are",
    "become_constant",
    "become_identity",
    "new_constant",
    "optimized_name",
    "value_of",
]


def optimized_name(node: Node, suffix: str) -> str:
    """What constant folding calls a node that it makes for another."""
    return f"ConstantFolding/{node.name}{suffix}"


def value_of(node: Node) -> NDArray[Any] | None:
    """The value of a constant; None for any other node."""
    return node.attributes["value"] if node.type == "Const" else None


def new_constant(
    graph: MutableGraph, name: str, value: NDArray[Any], dtype: DType, device: str, after: str
) -> Node:
    """A new constant that waits for `after`, to be in its frame and branch."""
    attributes = {"value": value, "dtype": dtype}
    return graph.add(
        Node(name, "Const", [], [after] if after else [], attributes, device, (dtype,))
    )


def become_constant(graph: MutableGraph, node: Node, value: NDArray[Any]) -> None:
    """Let the node be this constant, and wait for what it read."""
    anchors = [control_anchor(graph, endpoint) for endpoint in node.inputs]
    graph.rewire(node, [], [*anchors, *node.controls])
    graph.retype(node, "Const", {"value": value, "dtype": node.dtypes[0]})


def become_identity(graph: MutableGraph, node: Node, place: int) -> None:
    """Let the node hand on that input, and wait for the others."""
    inputs = list(node.inputs)
    inputs[0], inputs[place] = inputs[place], inputs[0]
    anchors = [control_anchor(graph, endpoint) for endpoint in inputs[1:]]
    controls = [each for each in (*anchors, *node.controls) if each != inputs[0][0]]
    graph.rewire(node, inputs[:1], controls)
    graph.retype(node, "Identity", {"T": node.dtypes[0]})


def all_are(graph: MutableGraph, node: Node, value: int) -> bool:
    """Are all elements of the node's output known to be 0, or 1?"""
    if node.type in {"ZerosLike", "OnesLike"}:
        return value == (node.type == "OnesLike")
    if node.type == "Fill":
        return all_are(graph, graph.source(node, 1), value)
    constant = value_of(node)
    if constant is None or constant.dtype == object:
        return False
    return bool(np.all(constant == value))
