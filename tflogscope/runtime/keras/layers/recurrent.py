"""`RNN`: a cell, run over the time steps of its input.

Told about: `keras/src/layers/rnn/base_rnn.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras.layers.recurrence import Step, loop_over_time
from tflogscope.runtime.keras.layers.recurrent_cells import zero_states
from tflogscope.runtime.keras.layers.recurrent_stack import StackedRNNCells

__all__ = ["RNN"]


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
        time_major: bool = False,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError for what is no cell."""
        if isinstance(cell, (list, tuple)):
            cell = StackedRNNCells(cell)
        if not hasattr(cell, "call") or not hasattr(cell, "state_size"):
            raise ValueError(
                "Argument `cell` should have a `call` method and a `state_size`. The RNN was "
                f"passed: cell={cell}"
            )
        self.zero_output_for_mask = kwargs.pop("zero_output_for_mask", False)
        super().__init__(**kwargs)
        self.cell = cell
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.unroll, self.time_major = go_backwards, unroll, time_major
        self.supports_masking = True
        self.stateful = stateful
        self._kept_states: list[Any] = []
        self.input_spec = InputSpec(ndim=3)

    def build(self, input_shape: Any) -> None:
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        step_shape = tf.TensorShape(shape[1:] if self.time_major else (shape[0], *shape[2:]))
        if isinstance(self.cell, Layer) and not self.cell.built:
            with tf.name_scope(self.cell.name):
                self.cell.build(step_shape)
                self.cell.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The input's mask for the sequence of outputs; none for the last output and the states."""
        del inputs
        of_output = tf.nest.flatten(mask)[0] if self.return_sequences else None
        return [of_output] + [None for _ in self._state_sizes()] if self.return_state else of_output

    def call(
        self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None
    ) -> Any:
        inputs, states = self._with_states(inputs, initial_state)
        if hasattr(self.cell, "reset_dropout_mask"):
            self.cell.reset_dropout_mask()
        last, outputs, states = self._loop(self._step(training), inputs, states, mask)
        return self._results(last, outputs, states)

    def _step(self, training: Any) -> Step:
        takes = isinstance(self.cell, Layer) and "training" in self.cell._call_parameters()
        keywords = {"training": training} if takes else {}
        call = self.cell if callable(self.cell) else self.cell.call

        def step(inputs: Any, states: tuple[Any, ...]) -> tuple[Any, Any]:
            output, new_states = call(inputs, states, **keywords)
            return output, new_states if isinstance(new_states, (list, tuple)) else [new_states]

        return step

    def _loop(self, step: Step, inputs: Any, states: Any, mask: Any) -> Any:
        return loop_over_time(
            step,
            inputs,
            states,
            mask=tf.nest.flatten(mask)[0],
            go_backwards=self.go_backwards,
            unroll=self.unroll,
            time_major=self.time_major,
            zero_output_for_mask=self.zero_output_for_mask,
            return_all_outputs=self.return_sequences,
        )

    def _results(self, last: Any, outputs: Any, states: Any) -> Any:
        for kept, state in zip(self._kept_states, states, strict=False):
            kept.assign(state)
        output = outputs if self.return_sequences else last
        return [output, *states] if self.return_state else output

    def _with_states(self, inputs: Any, initial_state: Any) -> tuple[Any, list[Any]]:
        """The inputs, and the states to start from: given, or behind the inputs in a list, or
        zeros.
        """
        if isinstance(inputs, list):
            inputs, initial_state = inputs[0], inputs[1:] or initial_state
        if initial_state is None and self.stateful:
            initial_state = self._states_of_before(inputs)
        if initial_state is None:
            initial_state = self.get_initial_state(inputs)
        states = (
            list(initial_state) if isinstance(initial_state, (list, tuple)) else [initial_state]
        )
        if len(states) != len(self._state_sizes()):
            raise ValueError(
                f"Layer has {len(self._state_sizes())} states but was passed {len(states)} initial "
                f"states. Received: initial_state={initial_state}"
            )
        return inputs, states

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """The states before the first step."""
        batch_size = tf.shape(inputs)[1 if self.time_major else 0]
        if hasattr(self.cell, "get_initial_state"):
            made = self.cell.get_initial_state(
                inputs=None, batch_size=batch_size, dtype=inputs.dtype
            )
            return list(made) if isinstance(made, (list, tuple)) else [made]
        return zero_states(batch_size, self._state_sizes(), inputs.dtype)

    def _states_of_before(self, inputs: Any) -> list[Any]:
        """Where the last batch ended. Raises ValueError if the size of a batch isn't known."""
        if not self._kept_states:
            batch = inputs.shape[0]
            if batch is None:
                raise ValueError(
                    "If a RNN is stateful, it needs to know its batch size. Specify the batch size "
                    "of your input tensors: pass a `batch_input_shape` to your first layer."
                )
            with tf.init_scope():
                made = [
                    tf.Variable(tf.zeros([batch, size]), trainable=False)
                    for size in self._state_sizes()
                ]
            self.__dict__["_kept_states"] = made
        return [each.read_value() for each in self._kept_states]

    def reset_states(self, states: Any = None) -> None:
        """Forget where the last batch ended, or say where it should have. Raises AttributeError if
        the layer is not stateful.
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        values = tf.nest.flatten(states) if states is not None else [None] * len(self._kept_states)
        for kept, value in zip(self._kept_states, values, strict=True):
            kept.assign(tf.zeros_like(kept) if value is None else value)

    def _state_sizes(self) -> list[Any]:
        return tf.nest.flatten(self.cell.state_size)

    @property
    def units(self) -> int:
        """The width of the cell's state."""
        return int(self.cell.units)
