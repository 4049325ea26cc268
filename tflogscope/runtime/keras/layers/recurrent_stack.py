"""Several cells as one.

Told about: `keras/src/layers/rnn/stacked_rnn_cells.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.layers.base import Layer

__all__ = ["StackedRNNCells"]


class StackedRNNCells(Layer):
    """The output of each cell is the input of the next."""

    def __init__(self, cells: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cells = list(cells)

    @property
    def state_size(self) -> Any:
        """Those of the cells."""
        return tuple(cell.state_size for cell in self.cells)

    @property
    def output_size(self) -> int:
        """That of the last cell."""
        return int(self.cells[-1].output_size)

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> list[Any]:
        """The states of all cells before the first step."""
        made = [
            cell.get_initial_state(inputs=inputs, batch_size=batch_size, dtype=dtype)
            for cell in self.cells
        ]
        return tf.nest.flatten(made)

    def reset_dropout_mask(self) -> None:
        """For each cell that has one."""
        for cell in self.cells:
            if hasattr(cell, "reset_dropout_mask"):
                cell.reset_dropout_mask()

    def build(self, input_shape: Any) -> None:
        for cell in self.cells:
            if not cell.built:
                with tf.name_scope(cell.name):
                    cell.build(input_shape)
                cell.built = True
            input_shape = (input_shape[0], cell.output_size)

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        left = list(tf.nest.flatten(states))
        new: list[Any] = []
        for cell in self.cells:
            count = len(tf.nest.flatten(cell.state_size))
            keywords = {"training": training} if cell._expects("training") else {}
            inputs, states = cell(inputs, left[:count], **keywords)
            left = left[count:]
            new += tf.nest.flatten(states)
        return inputs, new
