"""Cells: one time step of a recurrent layer.

Told about: `LSTMCell`, `GRUCell`, `SimpleRNNCell` of `keras/src/layers/rnn/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras import activations, backend, initializers
from tflogscope.runtime.keras.layers.base import Layer

__all__ = ["Cell", "GRUCell", "LSTMCell", "SimpleRNNCell", "zero_states"]


def zero_states(batch_size: Any, sizes: Sequence[int], dtype: Any) -> list[Any]:
    """The states before the first step."""
    return [tf.zeros([batch_size, size], dtype=dtype) for size in sizes]


class Cell(Layer):
    """Weights for the input, for the state, and a bias; `gates` times as wide as the state."""

    gates: ClassVar[int] = 1
    bias: Any = None

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
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if units <= 0:
            raise ValueError(
                "Received an invalid value for argument `units`, expected a positive integer, got "
                f"{units}."
            )
        if recurrent_dropout:
            raise NotInThisRuntime("recurrent_dropout")
        self.units = units
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.recurrent_initializer = initializers.get(recurrent_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.dropout = min(1.0, max(0.0, dropout))
        self._random_generator = backend.RandomGenerator()
        self._dropout_mask: list[Any] | None = None

    @property
    def state_sizes(self) -> list[int]:
        """The width of each state."""
        return [self.units]

    @property
    def state_size(self) -> Any:
        """The same as Keras gives it: an int for a single state."""
        return self.units

    @property
    def output_size(self) -> int:
        """The width of the output."""
        return self.units

    def build(self, input_shape: Any) -> None:
        wide = self.units * self.gates
        self.kernel = self.add_weight(
            shape=(input_shape[-1], wide), name="kernel", initializer=self.kernel_initializer
        )
        self.recurrent_kernel = self.add_weight(
            shape=(self.units, wide),
            name="recurrent_kernel",
            initializer=self.recurrent_initializer,
        )
        if self.use_bias:
            self.bias = self._make_bias(wide)

    def _make_bias(self, wide: int) -> Any:
        return self.add_weight(shape=(wide,), name="bias", initializer=self.bias_initializer)

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> list[Any]:
        """The states before the first step: zeros."""
        if inputs is not None:
            batch_size, dtype = tf.shape(inputs)[0], inputs.dtype
        return zero_states(batch_size, self.state_sizes, dtype)

    def reset_dropout_mask(self) -> None:
        """Draw another one at the next step; within one sequence it is the same."""
        object.__setattr__(self, "_dropout_mask", None)

    def dropped(self, inputs: Any, training: Any) -> Any:
        """The inputs with dropout applied in training."""
        if self.dropout == 0:
            return inputs
        if self._dropout_mask is None:
            ones = tf.ones_like(inputs)
            masks = [
                backend.smart_cond(
                    bool(training),
                    lambda: self._random_generator.dropout(ones, self.dropout),
                    lambda: ones,
                )
                for _ in range(max(self.gates, 1))
            ]
            object.__setattr__(self, "_dropout_mask", masks)
        assert self._dropout_mask is not None
        return inputs * self._dropout_mask[0]

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """Output and new states."""
        raise NotImplementedError


class SimpleRNNCell(Cell):
    """activation(inputs @ kernel + bias + state @ recurrent_kernel)."""

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        (previous,) = tf.nest.flatten(states)
        output = tf.matmul(self.dropped(inputs, training), self.kernel)
        if self.bias is not None:
            output = tf.nn.bias_add(output, self.bias, data_format="NHWC")
        output = self.activation(output + tf.matmul(previous, self.recurrent_kernel))
        return output, [output]


class LSTMCell(Cell):
    """Long short-term memory: input, forget and output gates, and a carry beside the state."""

    gates = 4

    def __init__(
        self, units: int, *args: Any, unit_forget_bias: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(units, *args, **kwargs)
        self.unit_forget_bias = unit_forget_bias

    @property
    def state_sizes(self) -> list[int]:
        return [self.units, self.units]

    @property
    def state_size(self) -> Any:
        return self.state_sizes

    def _make_bias(self, wide: int) -> Any:
        ones, plain = initializers.get("ones"), self.bias_initializer
        assert ones is not None
        assert plain is not None

        def forgetting(_: Any, dtype: Any = None) -> Any:
            """1 for the forget gate: at first everything is remembered."""
            parts = [
                plain((self.units,), dtype=dtype),
                ones((self.units,), dtype=dtype),
                plain((self.units * 2,), dtype=dtype),
            ]
            return tf.concat(parts, 0)

        initializer = forgetting if self.unit_forget_bias else plain
        return self.add_weight(shape=(wide,), name="bias", initializer=initializer)

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        previous, carry = states[0], states[1]
        gates = tf.matmul(self.dropped(inputs, training), self.kernel)
        gates += tf.matmul(previous, self.recurrent_kernel)
        if self.bias is not None:
            gates = tf.nn.bias_add(gates, self.bias, data_format="NHWC")
        into, forget, candidate, out = tf.split(gates, num_or_size_splits=4, axis=1)
        into = self.recurrent_activation(into)
        forget = self.recurrent_activation(forget)
        carry = forget * carry + into * self.activation(candidate)
        out = self.recurrent_activation(out)
        output = out * self.activation(carry)
        return output, [output, carry]


class GRUCell(Cell):
    """Gated recurrent unit: update and reset gates."""

    gates = 3

    def __init__(self, units: int, *args: Any, reset_after: bool = True, **kwargs: Any) -> None:
        super().__init__(units, *args, **kwargs)
        self.reset_after = reset_after

    def _make_bias(self, wide: int) -> Any:
        shape = (2, wide) if self.reset_after else (wide,)
        return self.add_weight(shape=shape, name="bias", initializer=self.bias_initializer)

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        previous = states[0] if isinstance(states, (list, tuple)) else states
        input_bias, recurrent_bias = self.bias, None
        if self.bias is not None and self.reset_after:
            input_bias, recurrent_bias = tf.unstack(self.bias)
        from_input = tf.matmul(self.dropped(inputs, training), self.kernel)
        if input_bias is not None:
            from_input = tf.nn.bias_add(from_input, input_bias, data_format="NHWC")
        x_update, x_reset, x_candidate = tf.split(from_input, 3, axis=-1)
        if self.reset_after:
            from_state = tf.matmul(previous, self.recurrent_kernel)
            if recurrent_bias is not None:
                from_state = tf.nn.bias_add(from_state, recurrent_bias, data_format="NHWC")
        else:
            from_state = tf.matmul(previous, self.recurrent_kernel[:, : 2 * self.units])
        update, reset, candidate = tf.split(from_state, [self.units, self.units, -1], axis=-1)
        update = self.recurrent_activation(x_update + update)
        reset = self.recurrent_activation(x_reset + reset)
        if self.reset_after:
            candidate = reset * candidate
        else:
            candidate = tf.matmul(reset * previous, self.recurrent_kernel[:, 2 * self.units :])
        candidate = self.activation(x_candidate + candidate)
        output = update * previous + (1 - update) * candidate
        return output, [output] if isinstance(states, (list, tuple)) else output
