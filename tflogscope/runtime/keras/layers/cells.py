"""Cells: one step of a recurrent layer, from inputs and states to an output and new states."""

from __future__ import annotations

from typing import Any, ClassVar

from tflogscope.runtime.core import nest
from tflogscope.runtime.keras import initializers, primitives
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.state import keras3
from tflogscope.runtime.library import arrays, matrices


class Cell(Layer):
    """What cells share. NB: no dropout."""

    options = {
        "units": ...,
        "activation": "tanh",
        "recurrent_activation": "sigmoid",
        "use_bias": True,
        "kernel_initializer": "glorot_uniform",
        "recurrent_initializer": "orthogonal",
        "bias_initializer": "zeros",
    }
    gates: ClassVar[int] = 1
    states: ClassVar[int] = 1

    @property
    def state_size(self) -> list[int]:
        """How long each state is."""
        return [self.units] * self.states

    def build(self, input_shape: Any) -> None:
        wide = self.units * self.gates
        kernel, recurrent = (input_shape[-1], wide), (self.units, wide)
        self.kernel = self.add_weight("kernel", kernel, initializer=self.kernel_initializer)
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel", recurrent, initializer=self.recurrent_initializer
        )
        self.bias = self._make_bias(wide) if self.use_bias else None

    def _make_bias(self, wide: int) -> Any:
        return self.add_weight("bias", (wide,), initializer=self.bias_initializer)

    def call(self, inputs: Any, states: Any) -> Any:
        return self.step(
            inputs, nest.flatten(states), self.kernel, self.recurrent_kernel, self.bias
        )

    def step(self, inputs: Any, states: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
        """The output and the new states, with these weights."""
        raise NotImplementedError


class SimpleRNNCell(Cell):
    """A dense layer of the inputs and the last output."""

    def step(self, inputs: Any, states: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
        total = matrices.matmul(inputs, kernel)
        if bias is not None:
            total = primitives.add_bias(total, bias)
        output = self.activation(total + matrices.matmul(states[0], recurrent))
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

    def step(self, inputs: Any, states: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
        gates = matrices.matmul(inputs, kernel)
        gates += matrices.matmul(states[0], recurrent)
        if bias is not None:
            gates = primitives.add_bias(gates, bias)
        gate, activation = self.recurrent_activation, self.activation
        into, forget, candidate, out = arrays.split(gates, 4, axis=1)
        into, forget = gate(into), gate(forget)
        carry = forget * states[1] + into * activation(candidate)
        out = gate(out)
        output = out * activation(carry)
        return output, [output, carry]


class GRUCell(Cell):
    """Gated recurrent unit. NB: the reset gate comes after the product (`reset_after`)."""

    gates = 3

    def _make_bias(self, wide: int) -> Any:
        return self.add_weight("bias", (2, wide), initializer=self.bias_initializer)

    def step(self, inputs: Any, states: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
        gate, previous = self.recurrent_activation, states[0]
        from_input = matrices.matmul(inputs, kernel)
        from_state = matrices.matmul(previous, recurrent)
        if bias is not None:
            of_input, of_state = self._halves(bias)
            from_input = primitives.add_bias(from_input, of_input)
            from_state = primitives.add_bias(from_state, of_state)
        parts = arrays.split(from_input, 3, axis=1)
        own = arrays.split(from_state, 3, axis=1)
        update = gate(parts[0] + own[0])
        reset = gate(parts[1] + own[1])
        candidate = self.activation(parts[2] + reset * own[2])
        output = update * previous + (1 - update) * candidate
        return output, [output]

    @staticmethod
    def _halves(bias: Any) -> Any:
        if not keras3():
            return arrays.unstack(bias)
        return [arrays.squeeze(each, axis=[0]) for each in arrays.split(bias, 2, axis=0)]
