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
from tflogscope.runtime.keras3.layers.recurrent_stack import (
    StackedRNNCells,
    first_states,
    on_step,
)

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
        """Raises ValueError for what is no cell, NotInThisRuntime for kept states."""
        if stateful:
            raise NotInThisRuntime("Keras 3's RNN with stateful=True")
        if isinstance(cell, (list, tuple)):
            cell = StackedRNNCells(cell)
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
        states = initial_state
        if states is None:
            states = self.get_initial_state(ops.shape(sequences)[0])
        states = list(states) if isinstance(states, (list, tuple)) else [states]
        states = tf.nest.map_structure(
            lambda each: ops.convert_to_tensor(each, self.compute_dtype), states
        )
        _draw_dropout_masks(self.cell, sequences[:, 0, :], states)
        self._try_fused(sequences, training)
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
        _forget_dropout_masks(self.cell)
        output = outputs if self.return_sequences else last
        return (output, *states) if self.return_state else output

    def _try_fused(self, sequences: Any, training: Any) -> None:
        """Keras prepares to run all steps by one op, which there is with a GPU only."""

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
        made = first_states(self.cell, batch_size)
        return list(made) if isinstance(made, (list, tuple)) else [made]


def _draw_dropout_masks(cell: Any, inputs: Any, states: Any) -> None:
    """Before the loop, so that all its steps drop the same. NB: of several cells each is run for a
    step, to know the input of the next.
    """
    if hasattr(cell, "get_dropout_mask"):
        cell.get_dropout_mask(inputs)
    if isinstance(cell, StackedRNNCells):
        for each, state in zip(cell.cells, states, strict=True):
            _draw_dropout_masks(each, inputs, state)
            inputs, _ = on_step(each, inputs, state)


def _forget_dropout_masks(cell: Any) -> None:
    if hasattr(cell, "reset_dropout_mask"):
        cell.reset_dropout_mask()
    if isinstance(cell, StackedRNNCells):
        for each in cell.cells:
            _forget_dropout_masks(each)


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
    may_fuse: bool

    def __init__(self, units: int, *args: Any, use_cudnn: Any = "auto", **kwargs: Any) -> None:
        self.__dict__["may_fuse"] = use_cudnn in (True, "auto")
        of_layer = {name: kwargs.pop(name) for name in list(kwargs) if name in _OF_LAYER}
        of_both = {name: kwargs[name] for name in ("dtype", "trainable") if name in kwargs}
        cell = self.cell_type(units, *args, name=self.cell_name, **kwargs)
        super().__init__(cell, **of_layer, **of_both)
        self.input_spec = InputSpec(ndim=3)

    @property
    def units(self) -> int:
        """The width of the cell's state."""
        return int(self.cell.units)


class _Fusible(_WithItsCell):
    """One that a GPU runs with one op. Without a GPU what was made for it stays in the graph."""

    def _try_fused(self, sequences: Any, training: Any) -> None:
        if self.may_fuse and training and self.cell.dropout:
            mask = self.cell.get_dropout_mask(sequences[:, 0, :])
            sequences * ops.broadcast_to(ops.expand_dims(mask, axis=1), ops.shape(sequences))


class LSTM(_Fusible):
    """Long short-term memory."""

    cell_type, cell_name = LSTMCell, "lstm_cell"


class GRU(_Fusible):
    """Gated recurrent units."""

    cell_type, cell_name = GRUCell, "gru_cell"


class SimpleRNN(_WithItsCell):
    """The output goes back in."""

    cell_type, cell_name = SimpleRNNCell, "simple_rnn_cell"
