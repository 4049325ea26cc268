"""The loop over time steps: one `while_loop` with as many iterations as there are steps.

Where a mask is False, a step leaves the states as they were and gives the previous output again.

Told about: `rnn` of `keras/src/backend/tensorflow/rnn.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime import nest
from tflogscope.runtime.keras.layers.recurrence import Step, Unrolled, all_chosen

__all__ = ["loop_over_time"]


def loop_over_time(
    step: Step,
    inputs: Any,
    states: Sequence[Any],
    *,
    mask: Any = None,
    go_backwards: bool = False,
    unroll: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> tuple[Any, Any, Any]:
    """The last output, all outputs and the last states. `inputs` are (batch, time, features).

    Raises ValueError if the loop is to be unrolled and the number of steps isn't known.
    """
    limit = inputs.shape[1]
    inputs = _swapped(inputs)
    steps = inputs.shape[0] or tf.shape(inputs)[0]
    if mask is not None:
        mask = mask if mask.dtype == tf.bool else tf.cast(mask, tf.bool)
        mask = _swapped(tf.expand_dims(mask, axis=-1) if len(mask.shape) == 2 else mask)
    if unroll:
        if inputs.shape[0] is None:
            raise ValueError("Unrolling requires a fixed number of timesteps.")
        run = Unrolled(step, mask, go_backwards, zero_output_for_mask, return_all_outputs)
        last, outputs, final = run(inputs, tuple(states))
    else:
        loop = _Loop(step, steps, limit, return_all_outputs, zero_output_for_mask)
        last, outputs, final = loop.run(inputs, mask, tuple(states), go_backwards)
    return last, _swapped(outputs), final


def _swapped(tensor: Any) -> Any:
    """Batch and time change places."""
    return tf.transpose(tensor, [1, 0, *range(2, len(tensor.shape))])


class _Loop:
    def __init__(
        self, step: Step, steps: Any, limit: int | None, all_outputs: bool, zero: bool
    ) -> None:
        self.step, self.steps, self.limit = step, steps, limit
        self.all_outputs, self.zero = all_outputs, zero

    def run(
        self, inputs: Any, mask: Any, states: tuple[Any, ...], backwards: bool
    ) -> tuple[Any, Any, Any]:
        source = tf.TensorArray(dtype=inputs.dtype, size=self.steps, tensor_array_name="input_ta_0")
        source = source.unstack(tf.reverse(inputs, [0]) if backwards else inputs)
        first, _ = self.step(inputs[0], states)  # only tells what an output is like
        sink = tf.TensorArray(
            dtype=first.dtype,
            size=self.steps if self.all_outputs else 1,
            element_shape=first.shape,
            tensor_array_name="output_ta_0",
        )
        time = tf.constant(0, dtype="int32", name="time")
        most = self.steps if self.limit is None else tf.reduce_max(self.limit)
        if mask is None:
            body, variables = self._body(source), (time, (sink,), *states)
        else:
            mask = tf.reverse(mask, [0]) if backwards else mask
            masks = tf.TensorArray(dtype=tf.bool, size=self.steps, tensor_array_name="mask_ta")
            masks = masks.unstack(mask)
            nothing = tf.zeros_like(first)
            body = self._masked_body(source, masks, nothing)
            variables = (time, (sink,), (nothing,), *states)
        final = tf.while_loop(
            cond=lambda time, *_: time < self.steps,
            body=body,
            loop_vars=variables,
            maximum_iterations=most,
            parallel_iterations=32,
            swap_memory=True,
        )
        outputs = final[1][0].stack()
        return outputs[-1], outputs, final[2 if mask is None else 3 :]

    def _body(self, source: Any) -> Callable[..., Any]:
        def body(time: Any, sinks: Any, *states: Any) -> Any:
            output, new_states = self.step(source.read(time), states)
            sink = sinks[0].write(time if self.all_outputs else 0, output)
            new_states = nest.pack_sequence_as(states, nest.flatten(new_states))
            return (time + 1, (sink,), *new_states)

        return body

    def _masked_body(self, source: Any, masks: Any, nothing: Any) -> Callable[..., Any]:
        def body(time: Any, sinks: Any, previous: Any, *states: Any) -> Any:
            value = source.read(time)
            mask = masks.read(time)
            output, new_states = self.step(value, states)
            old = nothing if self.zero else previous[0]
            (output,) = all_chosen(mask, [output], [old], len(mask.shape))
            new, old_states = nest.flatten(new_states), nest.flatten(states)
            chosen = all_chosen(mask, new, old_states, len(mask.shape))
            chosen = nest.pack_sequence_as(states, list(chosen))
            sink = sinks[0].write(time if self.all_outputs else 0, output)
            return (time + 1, (sink,), (output,), *chosen)

        return body
