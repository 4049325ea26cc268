"""`model.summary()`: a table of layers, shapes and numbers of weights.

Told about: `print_summary` of `keras/src/utils/layer_utils.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf

__all__ = ["is_linear", "print_summary"]


def print_summary(
    model: Any,
    line_length: int | None,
    show: Callable[[str], Any],
    *,
    expand_nested: bool = False,
    show_trainable: bool = False,
) -> None:
    """Show the table line by line."""
    linear = is_linear(model)
    length = line_length or (65 if linear else 98)
    shares = [0.45, 0.85, 1.0] if linear else [0.3, 0.6, 0.7, 1.0]
    ends = [int(length * share) for share in shares]
    titles = ["Layer (type)", "Output Shape", "Param #"] + ([] if linear else ["Connected to"])
    if show_trainable:
        length += 11
        ends.append(length)
        titles.append("Trainable")
    table = _Table(model, ends, show, linear, expand_nested, show_trainable)
    show(f'Model: "{model.name}"')
    show("_" * length)
    table.row(titles)
    show("=" * length)
    for layer in model.layers:
        table.layer(layer)
    show("=" * length)
    trainable, fixed = model.trainable_weights, model.non_trainable_weights
    for title, weights in (
        ("Total", [*trainable, *fixed]),
        ("Trainable", trainable),
        ("Non-trainable", fixed),
    ):
        show(f"{title} params: {sum(map(_size, weights))} ({_memory(weights)})")
    show("_" * length)


@dataclass(frozen=True)
class _Table:
    """The rows; those of layers inside layers stand in boxes."""

    model: Any
    ends: list[int]
    show: Callable[[str], Any]
    linear: bool
    expand_nested: bool
    show_trainable: bool

    def layer(self, layer: Any, level: int = 0, *, last: bool = False) -> None:
        """A row, and those of the layers in it."""
        fields = [
            f"{layer.name} ({type(layer).__name__})",
            _output_shape(layer),
            _parameters(layer),
        ]
        if not self.linear:
            fields.append(_connections(self.model, layer))
        if self.show_trainable:
            fields.append("Y" if layer.trainable else "N")
        self.row(fields, level)
        inside = getattr(layer, "layers", None) if self.expand_nested else None
        if inside:
            self._rule("¯", level + 1, level)
            for each in inside:
                self.layer(each, level + 1, last=each is inside[-1])
            self._rule("¯", level, level)
        if not (last or inside):
            self._rule(" ", level, level)

    def _rule(self, mark: str, bars: int, level: int) -> None:
        width = self.ends[-1] - 2 * level - 2 * (bars - level)
        self.show("|" * bars + mark * width + "|" * bars)

    def row(self, fields: list[str], level: int = 0) -> None:
        """One row, as many lines as the longest field needs."""
        left = [str(field) for field in fields]
        last = len(self.ends) - 1
        while any(left):
            line = ""
            for column, end in enumerate(self.ends):
                start = self.ends[column - 1] if column else 0
                width = end - start - (3 if column != last else 0) - (0 if column else level)
                piece = left[column][:width]
                cuts = [
                    piece.find(mark) + len(mark)
                    for mark in ("),", "},", "],", "',")
                    if piece.find(mark) >= 0
                ]
                if cuts:
                    width = min(cuts)
                    piece = piece[:width]
                line += "|" * level + " " if column == 0 else ""
                line += piece + ("  " if column != last else "")
                left[column] = left[column][width:]
                line += " " * (end - len(line) - (level if column == last else 0))
            self.show(line + "|" * level)


def is_linear(model: Any) -> bool:
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


def _size(variable: Any) -> int:
    return int(np.prod(variable.shape.as_list()))


def _memory(weights: list[Any]) -> str:
    size: float = sum(_size(each) * each.dtype.size for each in weights)
    for unit in ("Byte", "KB", "MB", "GB", "TB"):
        if size / 1024.0 < 1.0 or unit == "TB":
            return f"{size:.2f} {unit}"
        size /= 1024.0
    return ""
