"""Of nodes that compute the same, one stays: same op, inputs, attributes, device.

Told about: `core/grappler/optimizers/common_subgraph_elimination.cc`, `utils/canonicalizer.cc`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from tflogscope.runtime.passes.facts import COMMUTATIVE, is_stateful
from tflogscope.runtime.passes.graph import MutableGraph, Node, input_text, topological

__all__ = ["frozen", "remove_duplicates"]

_ALWAYS = frozenset({"Assert", "Print", "PrintV2"})
"""Stateful by mistake, says TensorFlow."""


def remove_duplicates(graph: MutableGraph) -> None:
    """Let the first of equal nodes stand for all."""
    order = topological(graph)
    if order is not None:
        graph.reorder(order)
    for node in graph:
        _canonicalise(node, graph)
    able = [node for node in graph if _can_be_merged(node, graph)]
    signatures: dict[str, Hashable] = {}
    first: dict[Hashable, Node] = {}
    gone: set[str] = set()
    changed = True
    while changed:
        changed = False
        for node in able:
            if node.name in gone:
                continue
            if node.name not in signatures:
                signatures[node.name] = _signature(node)
            representative = first.setdefault(signatures[node.name], node)
            if representative is node:
                continue
            for reader in graph.readers(node.name):
                if first.get(signatures.get(reader.name)) is reader:
                    del first[signatures[reader.name]]
                signatures.pop(reader.name, None)
                _follow(reader, node.name, representative.name, graph)
            gone.add(node.name)
            changed = True
    graph.erase(gone)


def _can_be_merged(node: Node, graph: MutableGraph) -> bool:
    if node.name in graph.kept or node.type in {"Enter", "Exit"}:
        return False
    return node.type in _ALWAYS or not is_stateful(node.type)


def _follow(reader: Node, old: str, new: str, graph: MutableGraph) -> None:
    graph.rewire(
        reader,
        [(new if name == old else name, output) for name, output in reader.inputs],
        [new if name == old else name for name in reader.controls],
    )
    _canonicalise(reader, graph)


def _canonicalise(node: Node, graph: MutableGraph) -> None:
    """Inputs whose order does not matter are sorted by name, and so are control inputs."""
    if len(node.inputs) + len(node.controls) < 2:
        return
    inputs = node.inputs
    if node.type in COMMUTATIVE:
        inputs = sorted(inputs, key=input_text)
    graph.rewire(node, inputs, sorted(set(node.controls)))


def _signature(node: Node) -> Hashable:
    return (
        node.type,
        node.device,
        tuple(node.inputs),
        tuple(node.controls),
        frozen(node.attributes),
    )


def frozen(value: Any) -> Hashable:
    """A value that can be compared, for attributes of all kinds."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return (value.shape, "object", tuple(value.ravel().tolist()))
        return (value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, Mapping):
        return tuple(
            sorted((key, frozen(item)) for key, item in value.items() if not key.startswith("__"))
        )
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    if isinstance(value, Hashable):
        return (type(value).__name__, value)
    return id(value)
