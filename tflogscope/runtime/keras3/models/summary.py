"""`model.summary()` of Keras 3: a table with boxes around its cells.

Told about: `print_summary` of `keras/src/utils/summary_utils.py`, `Table` of Rich's `table.py`.
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.keras_tensor import Node
from tflogscope.runtime.keras.models.summary import is_linear
from tflogscope.runtime.keras3.keras_tensor import KerasTensor
from tflogscope.runtime.keras3.operation import Operation

__all__ = ["print_summary"]

ALIGNED: dict[str, Callable[[str, int], str]] = {
    "Param #": str.rjust,
    "Trainable": str.center,
}


def print_summary(
    model: Any,
    line_length: int | None,
    show: Callable[[str], Any],
    *,
    expand_nested: bool = False,
    show_trainable: bool = False,
) -> None:
    """Show the table, and below it how many weights there are."""
    linear = is_linear(model)
    titles = ["Layer (type)", "Output Shape", "Param #"] + ([] if linear else ["Connected to"])
    ends = [0.45, 0.80, 1.0] if linear else [0.3, 0.56, 0.74, 1.0]
    length = 88 if linear else 108
    if show_trainable:
        length += 12
        ends = [*(end * 0.90 for end in ends), 1.0]
        titles.append("Trainable")
    console = shutil.get_terminal_size().columns
    length = line_length or min(length, console - 4)
    table = _Table(titles, _widths(ends, length))
    described = _Described(model, linear, expand_nested, show_trainable)
    rows = [row for layer in _shown(model) for row in described.rows(layer)]
    lines = [f'Model: "{model.name}"', *table.lines(rows), *_sizes(model)]
    show("\n".join(line[:console] for line in lines) + "\n")


def _shown(model: Any) -> list[Any]:
    """The layers; of a functional model also the functions between them."""
    network = getattr(model, "_network", None)
    return list(model.layers if network is None else network.layers)


def _widths(ends: list[float], length: int) -> list[int]:
    """How wide the columns are, spaces on both sides included: as asked for, and less by the same
    for each, as the lines between them need room too.
    """
    places = [0, *(int(end * length) for end in ends)]
    widths = [end - start + 2 for start, end in itertools.pairwise(places)]
    excess = sum(widths) - (length - len(widths) - 1)
    for column, width in enumerate(widths):
        less = min(width, round(excess / (len(widths) - column)))
        widths[column] -= less
        excess -= less
    return widths


@dataclass(frozen=True)
class _Described:
    """What the table says about each layer."""

    model: Any
    linear: bool
    expand_nested: bool
    show_trainable: bool

    def rows(self, layer: Any, level: int = 0) -> list[list[str]]:
        """The layer's row, and if asked for those of the layers in it."""
        prefix = "   " * level + "└ " if level else ""
        row = [f"{prefix}{layer.name} ({_kind(layer)})", _output_shape(layer), _parameters(layer)]
        if not self.linear:
            row.append(self._connections(layer))
        if self.show_trainable:
            row.append(("Y" if layer.trainable else "N") if _weights(layer) else "-")
        inside = getattr(layer, "layers", []) if self.expand_nested else []
        return [row, *(each for one in inside for each in self.rows(one, level + 1))]

    def _connections(self, layer: Any) -> str:
        found = [
            f"{source.name}[{node_index}][{tensor_index}]"
            for node in layer.inbound_nodes
            if node in self.model._network.nodes
            for source, node_index, tensor_index in map(_history, node.keras_inputs)
        ]
        return ", ".join(found) or "-"


def _history(tensor: Any) -> Any:
    return tensor._keras_history


def _kind(layer: Any) -> str:
    if isinstance(layer, Operation):
        return layer.kind
    return type(layer).__name__


def _weights(layer: Any) -> Any:
    return getattr(layer, "weights", [])


def _parameters(layer: Any) -> str:
    if not hasattr(layer, "built"):
        return "0"
    return f"{layer.count_params():,}" if layer.built else "0 (unbuilt)"


def _output_shape(layer: Any) -> str:
    nodes: list[Node] = layer.inbound_nodes
    if nodes:
        outputs = nodes[-1].outputs
    else:
        shapes = getattr(layer, "_built_for", None)
        if not shapes or any(shape is None for shape in shapes.values()):
            return "?"
        inputs = (KerasTensor(each, layer.compute_dtype) for each in shapes.values())
        outputs = layer.compute_output_spec(*inputs)
    found = tf.nest.map_structure(lambda each: str(tuple(each.shape)), outputs)
    flat = tf.nest.flatten(found)
    return flat[0] if len(flat) == 1 else str(found).replace("'", "")


def _sizes(model: Any) -> list[str]:
    trainable, fixed = model.trainable_weights, model.non_trainable_weights
    optimizer = model.optimizer if model.compiled else None
    slots = optimizer.variables if optimizer is not None and optimizer.built else []
    lines = [
        _size("Total", [*trainable, *fixed, *slots]),
        _size("Trainable", trainable),
        _size("Non-trainable", fixed),
    ]
    return [*lines, _size("Optimizer", slots)] if slots else lines


def _size(title: str, variables: list[Any]) -> str:
    counts = [int(np.prod(each.shape.as_list())) for each in variables]
    size: float = sum(
        count * tf.as_dtype(each.dtype).size for count, each in zip(counts, variables, strict=True)
    )
    unit = ""
    for unit in ("B", "KB", "MB", "GB", "TB", "PB"):
        if size / 1024 < 1 or unit == "PB":
            break
        size /= 1024
    return f" {title} params: {sum(counts):,} ({size:.2f} {unit})"


@dataclass(frozen=True)
class _Table:
    titles: list[str]
    widths: list[int]

    def lines(self, rows: list[list[str]]) -> list[str]:
        """The table; a line between any two rows."""
        lines = [self._rule("┏┳┓", "━"), *self._row(self.titles, "┃"), self._rule("┡╇┩", "━")]
        for row in rows:
            lines += [*self._row(row, "│"), self._rule("├┼┤", "─")]
        lines[-1] = self._rule("└┴┘", "─")
        return lines

    def _rule(self, marks: str, stroke: str) -> str:
        return marks[0] + marks[1].join(stroke * width for width in self.widths) + marks[2]

    def _row(self, cells: list[str], bar: str) -> list[str]:
        wrapped = [
            _wrapped(cell, width - 2) for cell, width in zip(cells, self.widths, strict=True)
        ]
        lines = []
        for number in range(max(map(len, wrapped))):
            line = bar
            for title, width, pieces in zip(self.titles, self.widths, wrapped, strict=True):
                piece = pieces[number] if number < len(pieces) else ""
                line += f" {ALIGNED.get(title, str.ljust)(piece, width - 2)} {bar}"
            lines.append(line)
        return lines


def _wrapped(text: str, width: int) -> list[str]:
    """In lines of that width, broken between words; the rest of a longer word is left out."""
    lines = [""]
    for word in re.findall(r"\s*\S+\s*", text):
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > width:
            lines.append("")
        lines[-1] += word
    lines = [line.rstrip() for line in lines]
    return [line if len(line) <= width else line[: width - 1] + "…" for line in lines]
