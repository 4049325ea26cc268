"""LSTM and GRU layers. With default settings their loop is a function of its own, `standard_lstm`
or `standard_gru`.

Keras does that so that a graph optimiser can put the GPU's kernel in its place, which it traces
beside it (recurrent_gpu.py); eagerly the loop runs as it is.

Told about: `keras/src/layers/rnn/lstm.py`, `gru.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import activations
from tflogscope.runtime.keras.layers.recurrence import loop_over_time
from tflogscope.runtime.keras.layers.recurrent import RNN
from tflogscope.runtime.keras.layers.recurrent_cells import GRUCell, LSTMCell, SimpleRNNCell
from tflogscope.runtime.keras.layers.recurrent_gpu import gpu_gru, gpu_lstm, with_fallback

__all__ = ["GRU", "LSTM", "SimpleRNN"]

_OF_LAYER = (
    "return_sequences",
    "return_state",
    "go_backwards",
    "stateful",
    "unroll",
    "time_major",
    "name",
    "trainable",
    "dtype",
    "input_shape",
    "batch_input_shape",
    "zero_output_for_mask",
    "weights",
)


_OF_CELL = {
    "activation", "recurrent_activation", "use_bias", "kernel_initializer",
    "recurrent_initializer", "bias_initializer", "unit_forget_bias", "dropout", "reset_after",
}  # fmt: skip


class _OfCell(RNN):
    """A recurrent layer that makes its cell itself: what is not of the layer is handed on to the
    cell.
    """

    cell_class: Any
    cell_name: str

    def __init__(self, units: int, *args: Any, **kwargs: Any) -> None:
        of_layer = {name: kwargs.pop(name) for name in _OF_LAYER if name in kwargs}
        shared = {name: of_layer[name] for name in ("trainable", "dtype") if name in of_layer}
        kwargs.pop("implementation", None)
        super().__init__(
            self.cell_class(units, *args, name=self.cell_name, **shared, **kwargs), **of_layer
        )

    def __getattr__(self, name: str) -> Any:
        """What the cell was made with can be asked of the layer, as by the properties of `LSTM`."""
        if name in _OF_CELL:
            return getattr(self.cell, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class SimpleRNN(_OfCell):
    """The simplest recurrence."""

    cell_class, cell_name = SimpleRNNCell, "simple_rnn_cell"


class _Fused(_OfCell):
    """With default activations, and a bias: what the GPU's kernel can do."""

    def _is_standard(self) -> bool:
        cell = self.cell
        usual = cell.activation in (activations.tanh, tf.tanh)
        usual = usual and cell.recurrent_activation in (activations.sigmoid, tf.sigmoid)
        return bool(
            usual and cell.use_bias and not self.unroll and getattr(cell, "reset_after", True)
        )

    def call(
        self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None
    ) -> Any:
        if not self._is_standard():
            return super().call(inputs, mask, training, initial_state)
        inputs, states = self._with_states(inputs, initial_state)
        self.cell.reset_dropout_mask()
        inputs = self.cell.dropped(inputs, training)
        weights = (self.cell.kernel, self.cell.recurrent_kernel, self.cell.bias)
        tensors = dict(zip(("init_h", "init_c"), states, strict=False))
        tensors |= {
            name: variable.read_value()
            for name, variable in zip(("kernel", "recurrent_kernel", "bias"), weights, strict=True)
        }
        arguments = {
            "inputs": inputs,
            **tensors,
            "mask": tf.nest.flatten(mask)[0],
            "time_major": self.time_major,
            "go_backwards": self.go_backwards,
            "sequence_lengths": None,
            "zero_output_for_mask": self.zero_output_for_mask,
            "return_sequences": self.return_sequences,
        }
        if tf.executing_eagerly():
            last, outputs, *new_states, _ = self.standard(**arguments)
        else:
            last, outputs, *new_states, _ = self._implementation(self.standard, "CPU")(**arguments)
            other = self._implementation(with_fallback(self.gpu, self.standard), "GPU")
            other.get_concrete_function(**arguments).add_gradient_functions_to_graph()
        return self._results(last, outputs, new_states)

    def _implementation(self, function: Callable[..., Any], device: str) -> Any:
        """One of several: the runtime may choose another, so it is no part of the caller. Told
        about: `generate_defun_backend` of `gru_lstm_utils.py`.
        """
        attributes = {
            "api_implements": f"{self.cell_name}_{self.name}",
            "api_preferred_device": device,
        }
        return tf.function(function, autograph=False, experimental_attributes=attributes)

    standard: Callable[..., Any]
    gpu: Callable[..., Any]


def standard_lstm(
    inputs: Any,
    init_h: Any,
    init_c: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    mask: Any,
    time_major: bool,
    go_backwards: bool,
    sequence_lengths: Any,
    zero_output_for_mask: bool,
    return_sequences: bool,
) -> Any:
    """Last output, all outputs, the two states, and which implementation it was."""
    del sequence_lengths

    def step(cell_inputs: Any, states: tuple[Any, ...]) -> Any:
        previous, carry = states
        gates = tf.matmul(cell_inputs, kernel)
        gates += tf.matmul(previous, recurrent_kernel)
        gates = tf.nn.bias_add(gates, bias, data_format="NHWC")
        into, forget, candidate, out = tf.split(gates, 4, axis=1)
        into = tf.sigmoid(into)
        forget = tf.sigmoid(forget)
        carry = forget * carry + into * tf.tanh(candidate)
        out = tf.sigmoid(out)
        output = out * tf.tanh(carry)
        return output, [output, carry]

    last, outputs, (new_h, new_c) = loop_over_time(
        step, inputs, [init_h, init_c], mask=mask, go_backwards=go_backwards, time_major=time_major,
        zero_output_for_mask=zero_output_for_mask, return_all_outputs=return_sequences,
    )  # fmt: skip
    return last, outputs, new_h, new_c, _runtime()


def standard_gru(
    inputs: Any,
    init_h: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    mask: Any,
    time_major: bool,
    go_backwards: bool,
    sequence_lengths: Any,
    zero_output_for_mask: bool,
    return_sequences: bool,
) -> Any:
    """Last output, all outputs, the state, and which implementation it was."""
    del sequence_lengths
    input_bias, recurrent_bias = tf.unstack(bias)

    def step(cell_inputs: Any, states: tuple[Any, ...]) -> Any:
        (previous,) = states
        from_input = tf.nn.bias_add(tf.matmul(cell_inputs, kernel), input_bias, data_format="NHWC")
        x_update, x_reset, x_candidate = tf.split(from_input, 3, axis=1)
        from_state = tf.nn.bias_add(
            tf.matmul(previous, recurrent_kernel), recurrent_bias, data_format="NHWC"
        )
        update, reset, candidate = tf.split(from_state, 3, axis=1)
        update = tf.sigmoid(x_update + update)
        reset = tf.sigmoid(x_reset + reset)
        candidate = tf.tanh(x_candidate + reset * candidate)
        output = update * previous + (1 - update) * candidate
        return output, [output]

    last, outputs, (new_h,) = loop_over_time(
        step, inputs, [init_h], mask=mask, go_backwards=go_backwards, time_major=time_major,
        zero_output_for_mask=zero_output_for_mask, return_all_outputs=return_sequences,
    )  # fmt: skip
    return last, outputs, new_h, _runtime()


def _runtime() -> Any:
    """Keras' number for "the CPU's implementation"."""
    with tf.device("/cpu:0"):
        return tf.constant(1.0, dtype=tf.float32, name="runtime")


class LSTM(_Fused):
    """Long short-term memory."""

    cell_class, cell_name = LSTMCell, "lstm_cell"
    standard, gpu = staticmethod(standard_lstm), staticmethod(gpu_lstm)


class GRU(_Fused):
    """Gated recurrent units."""

    cell_class, cell_name = GRUCell, "gru_cell"
    standard, gpu = staticmethod(standard_gru), staticmethod(gpu_gru)
