"""Recurrent layers: cells, which are one step from inputs and states to an output and new states, and the
loop over the steps of a sequence. See `keras/backend.py` (`rnn`), `keras/layers/rnn/lstm.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.function.loops import while_loop
from tflogscope.runtime.function.polymorphic import PolymorphicFunction
from tflogscope.runtime.function.tensor_array import TensorArray
from tflogscope.runtime.keras import initializers, primitives
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.state import keras3
from tflogscope.runtime.library import arrays, matrices

# -- cells


class Cell(Layer):
    """What cells share. NB: no dropout, always a bias; no orthogonal matrix to begin with."""

    options = {
        "units": ...,
        "activation": "tanh",
        "recurrent_activation": "sigmoid",
        "kernel_initializer": "glorot_uniform",
        "recurrent_initializer": "glorot_uniform",
        "bias_initializer": "zeros",
    }
    gates: ClassVar[int] = 1
    states: ClassVar[int] = 1

    def build(self, input_shape: Any) -> None:
        wide = self.units * self.gates
        kernel, recurrent = (input_shape[-1], wide), (self.units, wide)
        self.kernel = self.add_weight("kernel", kernel, initializer=self.kernel_initializer)
        start = self.recurrent_initializer
        self.recurrent_kernel = self.add_weight("recurrent_kernel", recurrent, initializer=start)
        self.bias = self._make_bias(wide)

    def _make_bias(self, wide: int) -> Any:
        return self.add_weight("bias", (wide,), initializer=self.bias_initializer)

    @property
    def variables_of_step(self) -> list[Any]:
        return [self.kernel, self.recurrent_kernel, self.bias]

    def call(self, inputs: Any, states: Any) -> Any:
        return self.step(inputs, nest.flatten(states), *self.variables_of_step)

    def step(self, inputs: Any, states: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
        """The output and the new states, with these weights."""
        raise NotImplementedError


class SimpleRNNCell(Cell):
    """A dense layer of the inputs and the last output."""

    def step(self, inputs: Any, states: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
        total = primitives.add_bias(matrices.matmul(inputs, kernel), bias)
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
        gates = primitives.add_bias(gates + matrices.matmul(states[0], recurrent), bias)
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
        of_input, of_state = self._halves(bias)
        from_input = primitives.add_bias(matrices.matmul(inputs, kernel), of_input)
        from_state = primitives.add_bias(matrices.matmul(previous, recurrent), of_state)
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


# -- the loop


def _swapped(tensor: Any) -> Any:
    return matrices.transpose(tensor, [1, 0, *range(2, tensor.shape.rank)])


def loop_over_time(
    step: Callable[..., Any], inputs: Any, states: Sequence[Any], every: bool
) -> tuple[Any, Any]:
    """The last output and all of them. NB: inputs are sequences of vectors, without masks."""
    limit, batch = inputs.shape[1], inputs.shape[0]
    inputs = _swapped(inputs)
    steps = limit if keras3() and limit else arrays.shape(inputs)[0]
    source = TensorArray(inputs.dtype, steps, tensor_array_name="input_ta_0").unstack(inputs)
    first, _ = step(inputs[0], tuple(states))  # only for what an output is like: nothing runs it
    shape, count = first.shape, steps if every else 1
    sink = TensorArray(first.dtype, count, element_shape=shape, tensor_array_name="output_ta_0")
    time = constant(0, "int32", name="time")

    def body(time: Any, sink: Any, *states: Any) -> Any:
        output, new = step(source.read(time), states)
        for old, state in zip(states, new, strict=True):
            state.set_shape(old.shape)
        return (time + 1, sink.write(time if every else 0, output), *new)

    _, sink, *_ = while_loop(
        lambda time, *_: time < steps,
        body,
        (time, sink, *states),
        maximum_iterations=steps if keras3() else None,
    )
    outputs = sink.stack()
    last = outputs[-1]
    outputs.set_shape([limit if every else 1, batch, *outputs.shape.as_list()[2:]])
    return last, _swapped(outputs)


# -- layers


class RNN(Layer):
    """A cell over all steps of a sequence. NB: from first states of zeros."""

    options = {"cell": ..., "return_sequences": False}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._track(self.cell)

    def build(self, input_shape: Any) -> None:
        with context.name_scope(self.cell.name):
            self.cell.build(input_shape)
        self.cell.built = True

    def call(self, sequences: Any) -> Any:
        batch = sequences.shape[0] if keras3() else None
        batch = arrays.shape(sequences)[0] if batch is None else batch
        sizes = [batch, self.cell.units]
        states = [arrays.zeros(sizes, sequences.dtype) for _ in range(self.cell.states)]
        if keras3():
            sequences[:, 0, :]  # the inputs of a step: a mask of dropout would be drawn for them
        last, outputs = self._loop(sequences, states)
        return outputs if self.return_sequences else last

    def _loop(self, sequences: Any, states: Any) -> Any:
        return loop_over_time(self.cell, sequences, states, self.return_sequences)


class _WithItsCell(RNN):
    cell_type: Any
    cell_name: str
    options = {"return_sequences": False}
    _of_layer = ("return_sequences", "input_shape", "name", "trainable")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        own = {name: kwargs.pop(name) for name in self._of_layer if name in kwargs}
        self.__dict__["cell"] = self.cell_type(*args, name=self.cell_name, **kwargs)
        super().__init__(**own)


class SimpleRNN(_WithItsCell):
    """A dense layer of each step and the last output."""

    cell_type, cell_name = SimpleRNNCell, "simple_rnn_cell"


class _Standard(_WithItsCell):
    """NB: in Keras 2 the loop is a function of its own, which with a GPU another could replace. Keras
    traces that one too; nothing runs it.
    """

    def _loop(self, sequences: Any, states: Any) -> Any:
        cell = self.cell
        usual = cell.activation is primitives.activation("tanh")
        if keras3() or not (
            usual and cell.recurrent_activation is primitives.activation("sigmoid")
        ):
            return super()._loop(sequences, states)
        weights = [each.read_value() for each in cell.variables_of_step]
        run: Callable[..., Any] = self._standard
        if not context.executing_eagerly():
            name = {"api_implements": f"{cell.name}_{self.name}", "api_preferred_device": "CPU"}
            label = f"standard_{self.cell_name.removesuffix('_cell')}"
            run = PolymorphicFunction(run, None, name, name=label, autograph=False)
        return run(sequences, *states, *weights)[:2]

    def _standard(self, inputs: Any, *rest: Any) -> Any:
        *states, kernel, recurrent, bias = rest

        def step(inputs: Any, states: Any) -> Any:
            return self.cell.step(inputs, states, kernel, recurrent, bias)

        last, outputs = loop_over_time(step, inputs, states, self.return_sequences)
        with context.device("/cpu:0"):
            return last, outputs, constant(1.0, name="runtime")


class LSTM(_Standard):
    """Long short-term memory over a sequence."""

    cell_type, cell_name = LSTMCell, "lstm_cell"


class GRU(_Standard):
    """Gated recurrent units over a sequence."""

    cell_type, cell_name = GRUCell, "gru_cell"
