"""What recurrent layers do in one step.

Told about: `keras/src/layers/rnn/lstm.py`, `gru.py`, `simple_rnn.py`, `dropout_rnn_cell.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras3 import activations, initializers, ops, random
from tflogscope.runtime.keras3.layers.base import Layer

__all__ = ["GRUCell", "LSTMCell", "SimpleRNNCell"]


class _Cell(Layer):
    """What they share: two kernels, a bias, and dropout of the inputs."""

    gates: int
    default_recurrent_activation: str | None = "sigmoid"

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "default",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError for a width that is not positive."""
        if units <= 0:
            raise ValueError(
                "Received an invalid value for argument `units`, expected a positive integer, got "
                f"{units}."
            )
        kwargs.pop("implementation", None)
        options = {name: kwargs.pop(name) for name in list(kwargs) if _is_of_weights(name)}
        super().__init__(**kwargs)
        if recurrent_activation == "default":
            recurrent_activation = self.default_recurrent_activation
        if recurrent_dropout:
            raise NotInThisRuntime(f"{type(self).__name__}(recurrent_dropout=...)")
        self.units, self.use_bias, self.dropout = units, use_bias, min(1.0, max(0.0, dropout))
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.recurrent_initializer = initializers.get(recurrent_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self._of_weights = options
        self.seed_generator = random.SeedGenerator(seed)
        self.output_size = units
        self._dropout_mask: Any = None

    def _options(self, name: str) -> dict[str, Any]:
        return {
            kind: self._of_weights.get(f"{name}_{kind}") for kind in ("regularizer", "constraint")
        }

    def build(self, input_shape: Any) -> None:
        width = self.units * self.gates
        self.kernel = self.add_weight(
            (input_shape[-1], width), self.kernel_initializer, name="kernel",
            **self._options("kernel"),
        )  # fmt: skip
        self.recurrent_kernel = self.add_weight(
            (self.units, width), self.recurrent_initializer, name="recurrent_kernel",
            **self._options("recurrent"),
        )  # fmt: skip
        self.bias = None
        if self.use_bias:
            shape, initializer = self._bias()
            self.bias = self.add_weight(shape, initializer, name="bias", **self._options("bias"))

    def _bias(self) -> tuple[Any, Any]:
        return (self.units * self.gates,), self.bias_initializer

    def get_initial_state(self, batch_size: Any = None) -> list[Any]:
        """Zeros for each state."""
        return [
            ops.zeros((batch_size, size), self.compute_dtype)
            for size in tf.nest.flatten(self.state_size)
        ]

    state_size: Any

    def get_dropout_mask(self, inputs: Any) -> Any:
        """What the inputs are multiplied with; the same in all steps."""
        if self._dropout_mask is None and self.dropout > 0:
            ones = ops.ones_like(inputs)
            self.__dict__["_dropout_mask"] = random.dropout(
                ones, rate=self.dropout, seed=self.seed_generator
            )
        return self._dropout_mask

    def reset_dropout_mask(self) -> None:
        """Draw anew at the next call."""
        self.__dict__["_dropout_mask"] = None

    def _dropped(self, inputs: Any, training: Any) -> Any:
        if training and 0.0 < self.dropout < 1.0:
            return inputs * self.get_dropout_mask(inputs)
        return inputs


def _is_of_weights(name: str) -> bool:
    return name.endswith(("_regularizer", "_constraint")) and name != "activity_regularizer"


class LSTMCell(_Cell):
    """Two states: what is given, and what is kept."""

    gates = 4

    def __init__(
        self, units: int, *args: Any, unit_forget_bias: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(units, *args, **kwargs)
        self.unit_forget_bias = unit_forget_bias
        self.state_size = [units, units]

    def _bias(self) -> tuple[Any, Any]:
        shape, zeros = super()._bias()
        if not self.unit_forget_bias:
            return shape, zeros

        def initializer(_: Any, *args: Any, **kwargs: Any) -> Any:
            ones = initializers.Ones()
            parts = [zeros((self.units,), *args, **kwargs), ones((self.units,), *args, **kwargs)]
            return ops.concatenate([*parts, zeros((self.units * 2,), *args, **kwargs)])

        return shape, initializer

    def call(self, inputs: Any, states: Any, training: bool = False) -> Any:
        hidden, carry = states[0], states[1]
        total = ops.matmul(self._dropped(inputs, training), self.kernel)
        total = ops.add(total, ops.matmul(hidden, self.recurrent_kernel))
        if self.bias is not None:
            total = ops.add(total, self.bias)
        first, second, third, fourth = ops.split(total, 4, axis=1)
        let_in = self.recurrent_activation(first)
        forget = self.recurrent_activation(second)
        carry = forget * carry + let_in * self.activation(third)
        let_out = self.recurrent_activation(fourth)
        hidden = let_out * self.activation(carry)
        return hidden, [hidden, carry]


class GRUCell(_Cell):
    """One state, of which a part is replaced in each step."""

    gates = 3

    def __init__(self, units: int, *args: Any, reset_after: bool = True, **kwargs: Any) -> None:
        super().__init__(units, *args, **kwargs)
        self.reset_after, self.state_size = reset_after, units

    def _bias(self) -> tuple[Any, Any]:
        (width,), initializer = super()._bias()
        return ((2, width) if self.reset_after else (width,)), initializer

    def call(self, inputs: Any, states: Any, training: bool = False) -> Any:
        hidden = states[0] if isinstance(states, (list, tuple)) else states
        of_inputs, of_state = self._biases()
        matrix = ops.matmul(self._dropped(inputs, training), self.kernel)
        if of_inputs is not None:
            matrix = ops.add(matrix, of_inputs)
        x_update, x_reset, x_new = ops.split(matrix, 3, axis=-1)
        units, kernel = self.units, self.recurrent_kernel
        if self.reset_after:
            inner = ops.matmul(hidden, kernel)
            if of_state is not None:
                inner = inner + of_state
        else:
            inner = ops.matmul(hidden, kernel[:, : 2 * units])
        h_update = inner[:, :units]
        h_reset = inner[:, units : units * 2]
        h_new = inner[:, units * 2 :]
        update = self.recurrent_activation(x_update + h_update)
        reset = self.recurrent_activation(x_reset + h_reset)
        if self.reset_after:
            h_new = reset * h_new
        else:
            h_new = ops.matmul(reset * hidden, kernel[:, 2 * units :])
        new = self.activation(x_new + h_new)
        hidden = update * hidden + (1 - update) * new
        return hidden, [hidden] if isinstance(states, (list, tuple)) else hidden

    def _biases(self) -> tuple[Any, Any]:
        if self.bias is None or not self.reset_after:
            return self.bias, None
        one, two = (ops.squeeze(each, axis=0) for each in ops.split(self.bias, 2, axis=0))
        return one, two


class SimpleRNNCell(_Cell):
    """The output is the state."""

    gates = 1
    default_recurrent_activation = None

    def __init__(self, units: int, activation: Any = "tanh", **kwargs: Any) -> None:
        super().__init__(units, activation, **kwargs)
        self.state_size = units

    def call(self, inputs: Any, states: Any, training: bool = False) -> Any:
        previous = states[0] if isinstance(states, (list, tuple)) else states
        mask = self.get_dropout_mask(inputs)
        if training and mask is not None:
            inputs = inputs * mask
        total = ops.matmul(inputs, self.kernel)
        if self.bias is not None:
            total = ops.add(total, self.bias)
        output = self.activation(total + ops.matmul(previous, self.recurrent_kernel))
        return output, [output] if isinstance(states, (list, tuple)) else output
