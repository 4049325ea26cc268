"""Recurrent layers: the loop over the steps of a sequence, and Keras 2's layers whose loop is a function
of its own, that with a GPU another implementation could replace. See `keras/backend.py` (`rnn`),
`keras/layers/rnn/lstm.py` (`standard_lstm`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime.core import context
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.function.loops import while_loop
from tflogscope.runtime.function.polymorphic import PolymorphicFunction
from tflogscope.runtime.function.tensor_array import TensorArray
from tflogscope.runtime.keras import activations
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.cells import GRUCell, LSTMCell, SimpleRNNCell
from tflogscope.runtime.keras.state import keras3
from tflogscope.runtime.library import arrays, matrices
from tflogscope.runtime.library.slices import where

Step = Callable[[Any, tuple[Any, ...]], tuple[Any, Sequence[Any]]]

# -- the loop


def _swapped(tensor: Any) -> Any:
    return matrices.transpose(tensor, [1, 0, *range(2, tensor.shape.rank)])


def _chosen(mask: Any, new: Sequence[Any], old: Sequence[Any]) -> list[Any]:
    tiled = [O.Tile(mask, [1, *each.shape.as_list()[1:]]) for each in new]
    return [where(*each) for each in zip(tiled, new, old, strict=True)]


def _list_of_steps(inputs: Any, steps: Any, name: str) -> Any:
    return TensorArray(inputs.dtype, steps, tensor_array_name=name).unstack(inputs)


def loop_over_time(
    step: Step, inputs: Any, states: Sequence[Any], mask: Any, every: bool
) -> tuple[Any, Any]:
    """The last output and all of them. NB: inputs are sequences of vectors."""
    limit, batch = inputs.shape[1], inputs.shape[0]
    inputs = _swapped(inputs)
    steps = limit if keras3() and limit else arrays.shape(inputs)[0]
    if mask is not None:
        mask = _swapped(O.ExpandDims(mask, -1))
    source = _list_of_steps(inputs, steps, "input_ta_0")
    first, _ = step(inputs[0], tuple(states))  # only for what an output is like: nothing runs it
    sink = TensorArray(
        first.dtype,
        steps if every else 1,
        element_shape=first.shape,
        tensor_array_name="output_ta_0",
    )
    time = constant(0, "int32", name="time")
    masks = None if mask is None else _list_of_steps(mask, steps, "mask_ta")
    kept = () if mask is None else (arrays.zeros_like(first),)

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
    _, sink, *_ = while_loop(
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
    return last, _swapped(outputs)


# -- layers


class RNN(Layer):
    """A cell over all steps of a sequence. NB: from first states of zeros."""

    options = {"cell": ..., "return_sequences": False}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._track(self.cell)

    def build(self, input_shape: Any) -> None:
        if not self.cell.built:
            with context.name_scope(self.cell.name):
                self.cell.build((input_shape[0], *tuple(input_shape)[2:]))
            self.cell.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask if self.return_sequences else None

    def call(self, sequences: Any, mask: Any = None) -> Any:
        batch = sequences.shape[0] if keras3() else None
        batch = arrays.shape(sequences)[0] if batch is None else batch
        states = [arrays.zeros([batch, size], sequences.dtype) for size in self.cell.state_size]
        if keras3():
            sequences[:, 0, :]  # the inputs of a step: a mask of dropout would be drawn for them
        last, outputs = self._loop(sequences, states, mask)
        return outputs if self.return_sequences else last

    def _loop(self, sequences: Any, states: Any, mask: Any) -> Any:
        return loop_over_time(self.cell, sequences, states, mask, self.return_sequences)


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
    """NB: Keras 2 also traces the implementation for GPUs; nothing runs that one."""

    def _loop(self, sequences: Any, states: Any, mask: Any) -> Any:
        cell = self.cell
        usual = cell.activation is activations.get("tanh") and cell.use_bias
        usual = usual and cell.recurrent_activation is activations.get("sigmoid")
        if keras3() or not usual:
            return super()._loop(sequences, states, mask)
        weights = [each.read_value() for each in (cell.kernel, cell.recurrent_kernel, cell.bias)]
        run: Callable[..., Any] = self._standard
        if not context.executing_eagerly():
            name = {"api_implements": f"{cell.name}_{self.name}", "api_preferred_device": "CPU"}
            label = f"standard_{self.cell_name.removesuffix('_cell')}"
            run = PolymorphicFunction(run, None, name, name=label, autograph=False)
        return run(sequences, *states, *weights, mask)[:2]

    def _standard(self, inputs: Any, *rest: Any) -> Any:
        *states, kernel, recurrent, bias, mask = rest

        def step(inputs: Any, states: Any) -> Any:
            return self.cell.step(inputs, states, kernel, recurrent, bias)

        last, outputs = loop_over_time(step, inputs, states, mask, self.return_sequences)
        with context.device("/cpu:0"):
            return last, outputs, constant(1.0, name="runtime")


class LSTM(_Standard):
    """Long short-term memory over a sequence."""

    cell_type, cell_name = LSTMCell, "lstm_cell"


class GRU(_Standard):
    """Gated recurrent units over a sequence."""

    cell_type, cell_name = GRUCell, "gru_cell"
