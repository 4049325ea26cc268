"""Cells: one step of a recurrent layer, from inputs and states to an output and new states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tflogscope.runtime.core import nest
from tflogscope.runtime.keras import activations, initializers, primitives
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.primitives import Draws
from tflogscope.runtime.keras.state import keras3
from tflogscope.runtime.library import arrays, matrices

# -- cells


class Cell(Layer):
    """One step: from inputs and states to an output and new states."""

    gates: ClassVar[int] = 1
    states: ClassVar[int] = 1

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.use_bias, self.dropout = units, use_bias, dropout
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.recurrent_initializer = initializers.get(recurrent_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.state_size = units if self.states == 1 else [units] * self.states
        self.draws = Draws()
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        wide = self.units * self.gates
        shape = (input_shape[-1], wide)
        self.kernel = self.add_weight("kernel", shape, initializer=self.kernel_initializer)
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel", (self.units, wide), initializer=self.recurrent_initializer
        )
        if self.use_bias:
            self.bias = self._make_bias(wide)

    def _make_bias(self, wide: int) -> Any:
        return self.add_weight("bias", (wide,), initializer=self.bias_initializer)

    def dropped(self, inputs: Any, training: Any) -> Any:
        """The inputs after dropout. NB: a mask per step; Keras draws one for all."""
        if not (training and self.dropout):
            return inputs
        return inputs * self.draws.dropout(arrays.ones_like(inputs), self.dropout)

    def from_inputs(self, inputs: Any, training: Any) -> Any:
        return matrices.matmul(self.dropped(inputs, training), self.kernel)


class SimpleRNNCell(Cell):
    """A dense layer of the inputs and the last output."""

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        total = self.from_inputs(inputs, training)
        if self.bias is not None:
            total = primitives.add_bias(total, self.bias)
        previous = nest.flatten(states)[0]
        output = self.activation(total + matrices.matmul(previous, self.recurrent_kernel))
        return output, [output]


class LSTMCell(Cell):
    """Long short-term memory."""

    gates = 4
    states = 2

    def _make_bias(self, wide: int) -> Any:
        plain, ones = self.bias_initializer, initializers.get("ones")

        def forgetting(_: Any, dtype: Any = None) -> Any:
            sizes = ((plain, 1), (ones, 1), (plain, 2))
            return arrays.concat([start((self.units * n,), dtype=dtype) for start, n in sizes], 0)

        return self.add_weight("bias", (wide,), initializer=forgetting)

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        gates = self.from_inputs(inputs, training)
        gates += matrices.matmul(states[0], self.recurrent_kernel)
        if self.bias is not None:
            gates = primitives.add_bias(gates, self.bias)
        return lstm(gates, states[1], self.recurrent_activation, self.activation)


def lstm(gates: Any, carry: Any, gate: Callable[..., Any], activation: Callable[..., Any]) -> Any:
    into, forget, candidate, out = arrays.split(gates, 4, axis=1)
    into, forget = gate(into), gate(forget)
    carry = forget * carry + into * activation(candidate)
    out = gate(out)
    output = out * activation(carry)
    return output, [output, carry]


class GRUCell(Cell):
    """Gated recurrent unit. NB: the reset gate comes after the product (`reset_after`)."""

    gates = 3

    def _make_bias(self, wide: int) -> Any:
        return self.add_weight("bias", (2, wide), initializer=self.bias_initializer)

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        previous = nest.flatten(states)[0]
        biases: list[Any] = [None, None]
        if self.bias is not None and keras3():
            halves = arrays.split(self.bias, 2, axis=0)
            biases = [arrays.squeeze(each, axis=[0]) for each in halves]
        elif self.bias is not None:
            biases = arrays.unstack(self.bias)
        from_input = self.from_inputs(inputs, training)
        if biases[0] is not None:
            from_input = primitives.add_bias(from_input, biases[0])
        parts = arrays.split(from_input, 3, axis=-1)
        from_state = matrices.matmul(previous, self.recurrent_kernel)
        if biases[1] is not None and keras3():
            from_state = from_state + biases[1]
        elif biases[1] is not None:
            from_state = primitives.add_bias(from_state, biases[1])
        if keras3():
            one, two = self.units, 2 * self.units
            own = from_state[:, :one], from_state[:, one:two], from_state[:, two:]
        else:
            own = arrays.split(from_state, [self.units, self.units, -1], axis=-1)
        return gru(parts, own, previous, self.recurrent_activation, self.activation)


def gru(parts: Any, own: Any, previous: Any, gate: Any, activation: Any) -> Any:
    update = gate(parts[0] + own[0])
    reset = gate(parts[1] + own[1])
    candidate = activation(parts[2] + reset * own[2])
    output = update * previous + (1 - update) * candidate
    return output, [output]
