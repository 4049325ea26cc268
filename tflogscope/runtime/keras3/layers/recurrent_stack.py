"""Several cells as one.

Told about: `keras/src/layers/rnn/stacked_rnn_cells.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras3.layers.base import Layer

__all__ = ["StackedRNNCells", "first_states", "on_step"]


class StackedRNNCells(Layer):
    """The output of each cell is the input of the next. Raises ValueError for what is no cell."""

    def __init__(self, cells: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        for cell in cells:
            for name, kind in (("call", "method"), ("state_size", "attribute")):
                if not hasattr(cell, name):
                    raise ValueError(f"All cells must have a `{name}` {kind}. Received: {cell}")
        self.cells = cells

    @property
    def state_size(self) -> list[Any]:
        """Those of the cells."""
        return [cell.state_size for cell in self.cells]

    @property
    def output_size(self) -> int:
        """That of the last cell."""
        return _output_size(self.cells[-1])

    def get_initial_state(self, batch_size: Any = None) -> list[Any]:
        """The states of each cell before the first step."""
        return [first_states(cell, batch_size) for cell in self.cells]

    def build(self, input_shape: Any) -> None:
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                cell.build(input_shape)
                cell.built = True
            input_shape = (input_shape[0], _output_size(cell))

    def call(self, inputs: Any, states: Any, training: bool = False) -> Any:
        new: list[Any] = []
        for cell, state in zip(self.cells, states, strict=True):
            inputs, after = on_step(cell, inputs, state, training)
            nested = isinstance(state, (list, tuple))
            new.append(after[0] if len(after) == 1 and not nested else after)
        return inputs, new[0] if len(new) == 1 else new


def on_step(cell: Any, inputs: Any, state: Any, training: Any = None) -> tuple[Any, Any]:
    """A step of one of the cells, its states as a list."""
    state = list(state) if isinstance(state, (list, tuple)) else [state]
    keywords = {}
    if training is not None and isinstance(cell, Layer) and cell.takes("training"):
        keywords["training"] = training
    output, new = cell(inputs, state, **keywords)
    return output, new


def first_states(cell: Any, batch_size: Any) -> Any:
    """The states of a cell before the first step: its own idea of it, else zeros."""
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(batch_size=batch_size)
    dtype = getattr(cell, "compute_dtype", "float32")
    return tf.nest.map_structure(
        lambda size: tf.zeros((batch_size, size), dtype=dtype), cell.state_size
    )


def _output_size(cell: Any) -> int:
    found = getattr(cell, "output_size", None)
    if found is None:
        found = cell.state_size
        found = found[0] if isinstance(found, (list, tuple)) else found
    return int(found)
