"""`RNN`: a cell, run over the time steps of its input; `LSTM`, `GRU` and `SimpleRNN` with theirs.

NB: without a GPU there is no fused version: the cell runs in a loop.

Told about: `keras/src/layers/rnn/`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras.layers.recurrence import Step
from tflogscope.runtime.keras3 import ops
from tflogscope.runtime.keras3.layers.base import Layer
from tflogscope.runtime.keras3.layers.recurrence import loop_over_time
from tflogscope.runtime.keras3.layers.recurrent_cells import GRUCell, LSTMCell, SimpleRNNCell

__all__ = ["GRU", "LSTM", "RNN", "SimpleRNN"]


class RNN(Layer):
    """Any cell: a layer whose `call(inputs, states)` gives output and new states, and which has a
    `state_size`.
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError for what is no cell, NotInThisRuntime for stacks and kept states."""
        if isinstance(cell, (list, tuple)) or stateful:
            raise NotInThisRuntime("Keras 3's RNN of several cells, or with stateful=True")
        if not hasattr(cell, "call") or not hasattr(cell, "state_size"):
            raise ValueError(
                "Argument `cell` should have a `call` method and a `state_size`. Received: "
                f"cell={cell}"
            )
        super().__init__(**kwargs)
        self.cell = cell
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.unroll = go_backwards, unroll
        self.zero_output_for_mask = zero_output_for_mask
        self.supports_masking = True

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        del initial_state_shape
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build((sequences_shape[0], *sequences_shape[2:]))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The input's mask for the sequence of outputs; none for the last output and the states."""
        del inputs
        of_output = tf.nest.flatten(mask)[0] if self.return_sequences else None
        sizes = tf.nest.flatten(self.cell.state_size)
        return [of_output, *(None for _ in sizes)] if self.return_state else of_output

    def call(
        self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool = False
    ) -> Any:
        if initial_state is None:
            initial_state = self.get_initial_state(ops.shape(sequences)[0])
        states = (
            list(initial_state) if isinstance(initial_state, (list, tuple)) else [initial_state]
        )
        states = [ops.convert_to_tensor(each, self.compute_dtype) for each in states]
        first = sequences[:, 0, :]
        if hasattr(self.cell, "get_dropout_mask"):
            self.cell.get_dropout_mask(first)
        last, outputs, states = loop_over_time(
            self._step(training),
            sequences,
            states,
            mask=tf.nest.flatten(mask)[0],
            go_backwards=self.go_backwards,
            unroll=self.unroll,
            zero_output_for_mask=self.zero_output_for_mask,
            return_all_outputs=self.return_sequences,
        )
        if hasattr(self.cell, "reset_dropout_mask"):
            self.cell.reset_dropout_mask()
        output = outputs if self.return_sequences else last
        return (output, *states) if self.return_state else output

    def _step(self, training: Any) -> Step:
        keywords = {}
        if isinstance(self.cell, Layer) and self.cell.takes("training"):
            keywords["training"] = training

        def step(inputs: Any, states: tuple[Any, ...]) -> tuple[Any, Any]:
            output, new_states = self.cell(inputs, states, **keywords)
            return output, new_states if isinstance(new_states, (list, tuple)) else [new_states]

        return step

    def get_initial_state(self, batch_size: Any) -> list[Any]:
        """The states before the first step."""
        if hasattr(self.cell, "get_initial_state"):
            made = self.cell.get_initial_state(batch_size=batch_size)
            return list(made) if isinstance(made, (list, tuple)) else [made]
        sizes = tf.nest.flatten(self.cell.state_size)
        return [ops.zeros((batch_size, size), self.compute_dtype) for size in sizes]


_OF_LAYER = frozenset(
    {
        "return_sequences", "return_state", "go_backwards", "stateful", "unroll",
        "activity_regularizer", "name", "zero_output_for_mask", "input_shape", "input_dim",
    }
)  # fmt: skip


class _WithItsCell(RNN):
    """A recurrent layer that makes its cell."""

    cell_type: Any
    cell_name: str

    def __init__(self, units: int, *args: Any, use_cudnn: Any = "auto", **kwargs: Any) -> None:
        del use_cudnn
        of_layer = {name: kwargs.pop(name) for name in list(kwargs) if name in _OF_LAYER}
        of_both = {name: kwargs[name] for name in ("dtype", "trainable") if name in kwargs}
        cell = self.cell_type(units, *args, name=self.cell_name, **kwargs)
        super().__init__(cell, **of_layer, **of_both)
        self.input_spec = InputSpec(ndim=3)

    @property
    def units(self) -> int:
        """The width of the cell's state."""
        return int(self.cell.units)


class LSTM(_WithItsCell):
    """Long short-term memory."""

    cell_type, cell_name = LSTMCell, "lstm_cell"


class GRU(_WithItsCell):
    """Gated recurrent units."""

    cell_type, cell_name = GRUCell, "gru_cell"


class SimpleRNN(_WithItsCell):
    """The output goes back in."""

    cell_type, cell_name = SimpleRNNCell, "simple_rnn_cell"
