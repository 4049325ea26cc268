"""`model.summary()`: a table of layers, shapes and numbers of weights.

Told about: `print_summary` of `keras/src/utils/layer_utils.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf

__all__ = ["print_summary"]


def print_summary(model: Any, line_length: int | None, show: Callable[[str], Any]) -> None:
    """Show the table line by line."""
    linear = _is_linear(model)
    length = line_length or (65 if linear else 98)
    shares = [0.45, 0.85, 1.0] if linear else [0.3, 0.6, 0.7, 1.0]
    ends = [int(length * share) for share in shares]
    titles = ["Layer (type)", "Output Shape", "Param #"] + ([] if linear else ["Connected to"])
    show(f'Model: "{model.name}"')
    show("_" * length)
    _row(titles, ends, show)
    show("=" * length)
    layers = model.layers
    for layer in layers:
        fields = [
            f"{layer.name} ({type(layer).__name__})",
            _output_shape(layer),
            _parameters(layer),
        ]
        _row(fields if linear else [*fields, _connections(model, layer)], ends, show)
        show(" " * length)
    show("=" * length)
    trainable, fixed = model.trainable_weights, model.non_trainable_weights
    for title, weights in (
        ("Total", [*trainable, *fixed]),
        ("Trainable", trainable),
        ("Non-trainable", fixed),
    ):
        show(f"{title} params: {sum(map(_size, weights))} ({_memory(weights)})")
    show("_" * length)


def _is_linear(model: Any) -> bool:
    """Does each layer feed the next, and nothing else?"""
    network = getattr(model, "_network", None)
    if network is None or type(model).__name__ == "Sequential":
        return True
    for nodes in network.by_depth.values():
        if len(nodes) > 1 or len(nodes[0].keras_inputs) > 1:
            return False
    return all(
        sum(node in network.nodes for node in layer.inbound_nodes) <= 1 for layer in model.layers
    )


def _output_shape(layer: Any) -> str:
    if not layer.inbound_nodes:
        return "multiple"
    outputs = layer.inbound_nodes[0].outputs
    shapes = tf.nest.map_structure(lambda each: tuple(each.shape), outputs)
    is_input = layer.inbound_nodes[0].is_input
    return str([shapes] if is_input else shapes)


def _parameters(layer: Any) -> str:
    return str(layer.count_params()) if layer.built else "0 (unused)"


def _connections(model: Any, layer: Any) -> str:
    found = []
    for node in layer.inbound_nodes:
        if node in model._network.nodes:
            for tensor in node.keras_inputs:
                source, node_index, tensor_index = tensor._keras_history
                found.append(f"{source.name}[{node_index}][{tensor_index}]")
    return str(found)


def _row(fields: list[str], ends: list[int], show: Callable[[str], Any]) -> None:
    """One row, as many lines as the longest field needs."""
    left = [str(field) for field in fields]
    last = len(ends) - 1
    while any(left):
        line = ""
        for column, end in enumerate(ends):
            start = ends[column - 1] if column else 0
            width = end - start - (3 if column != last else 0)
            piece = left[column][:width]
            cuts = [
                piece.find(mark) + len(mark)
                for mark in ("),", "},", "],", "',")
                if piece.find(mark) >= 0
            ]
            if cuts:
                width = min(cuts)
                piece = piece[:width]
            line += (" " if column == 0 else "") + piece + ("  " if column != last else "")
            left[column] = left[column][width:]
            line += " " * (end - len(line))
        show(line)


def _size(variable: Any) -> int:
    return int(np.prod(variable.shape.as_list()))


def _memory(weights: list[Any]) -> str:
    size: float = sum(_size(each) * each.dtype.size for each in weights)
    for unit in ("Byte", "KB", "MB", "GB", "TB"):
        if size / 1024.0 < 1.0 or unit == "TB":
            return f"{size:.2f} {unit}"
        size /= 1024.0
    return ""
