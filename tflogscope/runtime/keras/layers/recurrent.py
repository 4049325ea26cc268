"""Recurrent layers: cells, the loop over the steps of a sequence, and Keras 2's layers whose loop is a
function of its own, that with a GPU another implementation could replace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.core.dtypes import bool_
from tflogscope.runtime.function.loops import while_loop
from tflogscope.runtime.function.polymorphic import PolymorphicFunction
from tflogscope.runtime.function.tensor_array import TensorArray
from tflogscope.runtime.keras import activations, primitives
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.cells import GRUCell, LSTMCell, SimpleRNNCell, gru, lstm
from tflogscope.runtime.keras.state import keras3
from tflogscope.runtime.library import arrays, matrices
from tflogscope.runtime.library.slices import where

Step = Callable[[Any, tuple[Any, ...]], tuple[Any, Sequence[Any]]]

# -- the loop


def _swapped(tensor: Any) -> Any:
    return matrices.transpose(tensor, [1, 0, *range(2, tensor.shape.rank)])


def _chosen(mask: Any, new: Sequence[Any], old: Sequence[Any]) -> list[Any]:
    fixed, tiled = mask.shape.rank, []
    for each in new:
        wide = mask
        for _ in range(each.shape.rank - mask.shape.rank):
            wide = O.ExpandDims(wide, -1)
        tiled.append(O.Tile(wide, [1] * fixed + each.shape.as_list()[fixed:]))
    return [where(*each) for each in zip(tiled, new, old, strict=True)]


def loop_over_time(
    step: Step, inputs: Any, states: Sequence[Any], mask: Any, backwards: bool, every: bool
) -> tuple[Any, Any, Any]:
    limit, batch = inputs.shape[1], inputs.shape[0]
    inputs = _swapped(inputs)
    steps = limit if keras3() and limit else arrays.shape_v2(inputs)[0]
    if mask is not None:
        mask = _swapped(O.ExpandDims(mask, -1))
    source = TensorArray(inputs.dtype, steps, tensor_array_name="input_ta_0")
    source = source.unstack(O.ReverseV2(inputs, [0]) if backwards else inputs)
    first, _ = step(inputs[0], tuple(states))  # only for what an output is like: nothing runs it
    sink = TensorArray(
        first.dtype,
        steps if every else 1,
        element_shape=first.shape,
        tensor_array_name="output_ta_0",
    )
    time = constant(0, "int32", name="time")
    masks: Any = None
    kept: tuple[Any, ...] = ()
    if mask is not None:
        masks = TensorArray(bool_, steps, tensor_array_name="mask_ta")
        masks = masks.unstack(O.ReverseV2(mask, [0]) if backwards else mask)
        kept = (arrays.zeros_like(first),)

    def body(time: Any, sink: Any, *rest: Any) -> Any:
        previous, states = rest[: len(kept)], rest[len(kept) :]
        value = source.read(time)
        shown = masks.read(time) if masks is not None else None
        output, new = step(value, states)
        if shown is not None:
            (output,) = _chosen(shown, [output], previous)
            new = _chosen(shown, new, states)
        for old, state in zip(states, new, strict=True):
            state.set_shape(old.shape)
        sink = sink.write(time if every else 0, output)
        return (time + 1, sink, *((output,) if kept else ()), *new)

    most = {"maximum_iterations": steps if limit is None else constant(limit)} if keras3() else {}
    _, sink, *final = while_loop(
        lambda time, *_: time < steps,
        body,
        (time, sink, *kept, *states),
        parallel_iterations=32,
        swap_memory=True,
        **most,
    )
    outputs = sink.stack()
    last = outputs[-1]
    outputs.set_shape([limit if every else 1, batch, *outputs.shape.as_list()[2:]])
    return last, _swapped(outputs), final[len(kept) :]


# -- layers


class RNN(Layer):
    """A cell over all steps of a sequence."""

    supports_masking = True

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.cell, self.go_backwards = cell, go_backwards
        self.return_sequences, self.return_state = return_sequences, return_state

    def build(self, input_shape: Any) -> None:
        if not self.cell.built:
            with context.name_scope(self.cell.name):
                self.cell.build((input_shape[0], *tuple(input_shape)[2:]))
            self.cell.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        of_output = nest.flatten(mask)[0] if self.return_sequences else None
        return [of_output] if self.return_state else of_output

    def call(
        self, sequences: Any, initial_state: Any = None, mask: Any = None, training: Any = None
    ) -> Any:
        states = initial_state
        if states is None:
            states = self.get_initial_state(sequences)
        states = list(states) if isinstance(states, (list, tuple)) else [states]
        if keras3():
            sequences[:, 0, :]  # the inputs of a step: a mask of dropout would be drawn for them
        keywords = {"training": training} if self.cell.takes("training") else {}

        def step(inputs: Any, states: tuple[Any, ...]) -> Any:
            output, new = self.cell(inputs, states, **keywords)
            return output, new if isinstance(new, (list, tuple)) else [new]

        return self._results(*self._loop(step, sequences, states, mask, training))

    def _loop(self, step: Step, sequences: Any, states: Any, mask: Any, training: Any) -> Any:
        del training
        every = self.return_sequences
        return loop_over_time(step, sequences, states, mask, self.go_backwards, every)

    def _results(self, last: Any, outputs: Any, states: Any) -> Any:
        output = outputs if self.return_sequences else last
        return [output, *states] if self.return_state else output

    def get_initial_state(self, inputs: Any) -> list[Any]:
        batch = inputs.shape[0] if keras3() else None
        batch = arrays.shape_v2(inputs)[0] if batch is None else batch
        sizes = nest.flatten(self.cell.state_size)
        return [arrays.zeros([batch, size], inputs.dtype) for size in sizes]


_OF_LAYER = (
    "return_sequences return_state go_backwards input_shape batch_input_shape name activity_regularizer"
).split()


class _WithItsCell(RNN):
    cell_type: Any
    cell_name: str

    def __init__(self, units: int, *args: Any, **kwargs: Any) -> None:
        own = {name: kwargs.pop(name) for name in _OF_LAYER if name in kwargs}
        kwargs.pop("use_cudnn", None)
        super().__init__(self.cell_type(units, *args, name=self.cell_name, **kwargs), **own)


class SimpleRNN(_WithItsCell):
    """A dense layer of each step and the last output."""

    cell_type, cell_name = SimpleRNNCell, "simple_rnn_cell"


class _Standard(_WithItsCell):
    """NB: Keras 2 also traces the implementation for GPUs; nothing runs that one."""

    def _loop(self, step: Step, sequences: Any, states: Any, mask: Any, training: Any) -> Any:
        cell = self.cell
        usual = cell.activation is activations.get("tanh") and cell.use_bias
        usual = usual and cell.recurrent_activation is activations.get("sigmoid")
        if keras3() or not usual:
            return super()._loop(step, sequences, states, mask, training)
        sequences = cell.dropped(sequences, training)
        weights = [each.read_value() for each in (cell.kernel, cell.recurrent_kernel, cell.bias)]
        run: Callable[..., Any] = self._standard
        if not context.executing_eagerly():
            name = {"api_implements": f"{cell.name}_{self.name}", "api_preferred_device": "CPU"}
            label = f"standard_{self.cell_name.removesuffix('_cell')}"
            run = PolymorphicFunction(run, None, name, name=label, autograph=False)
        last, outputs, *new, _ = run(sequences, *states, *weights, mask)
        return last, outputs, new

    def _standard(self, inputs: Any, *rest: Any) -> Any:
        *states, kernel, recurrent_kernel, bias, mask = rest
        step = self._step(kernel, recurrent_kernel, bias)
        every = self.return_sequences
        last, outputs, new = loop_over_time(step, inputs, states, mask, self.go_backwards, every)
        with context.device("/cpu:0"):
            return last, outputs, *new, constant(1.0, name="runtime")

    def _step(self, kernel: Any, recurrent_kernel: Any, bias: Any) -> Step:
        raise NotImplementedError


class LSTM(_Standard):
    """Long short-term memory over a sequence."""

    cell_type, cell_name = LSTMCell, "lstm_cell"

    def _step(self, kernel: Any, recurrent_kernel: Any, bias: Any) -> Step:
        def step(inputs: Any, states: Any) -> Any:
            gates = matrices.matmul(inputs, kernel)
            gates += matrices.matmul(states[0], recurrent_kernel)
            gates = primitives.add_bias(gates, bias)
            return lstm(gates, states[1], O.Sigmoid, O.Tanh)

        return step


class GRU(_Standard):
    """Gated recurrent units over a sequence."""

    cell_type, cell_name = GRUCell, "gru_cell"

    def _step(self, kernel: Any, recurrent_kernel: Any, bias: Any) -> Step:
        biases = arrays.unstack(bias)

        def step(inputs: Any, states: Any) -> Any:
            (previous,) = states
            from_input = primitives.add_bias(matrices.matmul(inputs, kernel), biases[0])
            parts = arrays.split(from_input, 3, axis=1)
            product = matrices.matmul(previous, recurrent_kernel)
            own = arrays.split(primitives.add_bias(product, biases[1]), 3, axis=1)
            return gru(parts, own, previous, O.Sigmoid, O.Tanh)

        return step


class Bidirectional(Layer):
    """A layer over the sequence and a copy of it over the reversed sequence."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        kind, cell = type(layer), layer.cell
        options = {"return_sequences": layer.return_sequences}
        self.forward_layer, self.backward_layer = (
            kind(
                cell.units,
                activation=cell.activation,
                use_bias=cell.use_bias,
                dropout=cell.dropout,
                name=f"{label}_{layer.name}",
                go_backwards=label == "backward",
                **options,
            )
            for label in ("forward", "backward")
        )
        self.return_sequences = layer.return_sequences

    def build(self, input_shape: Any) -> None:
        for layer in (self.forward_layer, self.backward_layer):
            with context.name_scope(layer.name):
                layer.build(input_shape)
            layer.built = True

    def call(self, sequences: Any, training: Any = None, mask: Any = None) -> Any:
        one = self.forward_layer(sequences, training=training, mask=mask)
        other = self.backward_layer(sequences, training=training, mask=mask)
        if self.return_sequences:
            other = O.ReverseV2(other, [1])
        return arrays.concat([one, other], axis=-1)
