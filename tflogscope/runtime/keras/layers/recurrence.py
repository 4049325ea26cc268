"""The loop over time steps that all recurrent layers share: one `while_loop` with TensorArrays for
inputs and outputs.

Where a mask is False, a step leaves the states as they were and gives the previous output again.

Told about: `rnn` of `keras/src/backend.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime import nest

__all__ = ["Step", "Unrolled", "all_chosen", "loop_over_time"]

Step = Callable[[Any, tuple[Any, ...]], tuple[Any, Sequence[Any]]]
"""`output, new_states = step(input, states)`."""


def loop_over_time(
    step: Step,
    inputs: Any,
    initial_states: Sequence[Any],
    *,
    mask: Any = None,
    go_backwards: bool = False,
    unroll: bool = False,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> tuple[Any, Any, tuple[Any, ...]]:
    """The last output, all outputs and the last states.

    `inputs` are (batch, time, features), or (time, batch, features) if `time_major`; so are the
    outputs. Raises ValueError if the loop is to be unrolled and the number of steps isn't known.
    """
    if not time_major:
        inputs = _swap_batch_and_time(inputs)
    steps, batch = inputs.shape[0], inputs.shape[1]
    step_count = tf.shape(inputs)[0]
    if mask is not None:
        mask = mask if mask.dtype == tf.bool else tf.cast(mask, tf.bool)
        mask = tf.expand_dims(mask, -1) if mask.shape.rank == 2 else mask
        mask = mask if time_major else _swap_batch_and_time(mask)
    if unroll:
        if not steps:
            raise ValueError("Unrolling requires a fixed number of timesteps.")
        run = Unrolled(step, mask, go_backwards, zero_output_for_mask, return_all_outputs)
        last, outputs, states = run(inputs, tuple(initial_states))
    else:
        loop = _Loop(step, step_count, mask, go_backwards, zero_output_for_mask, return_all_outputs)
        last, outputs, states = loop(inputs, tuple(initial_states))
    outputs.set_shape([steps if return_all_outputs else 1, batch, *outputs.shape.as_list()[2:]])
    return last, outputs if time_major else _swap_batch_and_time(outputs), states


def _swap_batch_and_time(tensor: Any) -> Any:
    return tf.transpose(tensor, [1, 0, *range(2, tensor.shape.rank)])


def _chosen(mask: Any, new: Any, old: Any, fixed: int) -> Any:
    """New values where the mask is True. The mask has `fixed` dimensions that need no repeating."""
    for _ in range(new.shape.rank - mask.shape.rank):
        mask = tf.expand_dims(mask, -1)
    tiled = tf.tile(mask, [1] * fixed + new.shape.as_list()[fixed:])
    return tf.where(tiled, new, old)


def all_chosen(mask: Any, new: Sequence[Any], old: Sequence[Any], fixed: int) -> tuple[Any, ...]:
    """The same for several; the masks are made first, as Keras does."""
    tiled = []
    for each in new:
        wide = mask
        for _ in range(each.shape.rank - mask.shape.rank):
            wide = tf.expand_dims(wide, -1)
        tiled.append(tf.tile(wide, [1] * fixed + each.shape.as_list()[fixed:]))
    return tuple(tf.where(m, one, other) for m, one, other in zip(tiled, new, old, strict=True))


class _Loop:
    """As a `while_loop`."""

    def __init__(
        self, step: Step, steps: Any, mask: Any, backwards: bool, zero: bool, all_outputs: bool
    ) -> None:
        self.step, self.steps, self.mask = step, steps, mask
        self.backwards, self.zero, self.all_outputs = backwards, zero, all_outputs

    def __call__(self, inputs: Any, states: tuple[Any, ...]) -> tuple[Any, Any, tuple[Any, ...]]:
        source = tf.TensorArray(dtype=inputs.dtype, size=self.steps, tensor_array_name="input_ta_0")
        source = source.unstack(tf.reverse(inputs, [0]) if self.backwards else inputs)
        first, _ = self.step(
            inputs[0], states
        )  # its ops only tell what an output is like: nothing runs them
        sink = tf.TensorArray(
            dtype=first.dtype,
            size=self.steps if self.all_outputs else 1,
            element_shape=first.shape,
            tensor_array_name="output_ta_0",
        )
        time = tf.constant(0, dtype="int32", name="time")
        if self.mask is None:
            _, sink, *final = self._run(self._body(source), (time, sink, *states))
        else:
            mask = tf.reverse(self.mask, [0]) if self.backwards else self.mask
            masks = tf.TensorArray(
                dtype=tf.bool, size=self.steps, tensor_array_name="mask_ta"
            ).unstack(mask)
            nothing = tf.zeros_like(first)
            _, sink, _, *final = self._run(
                self._masked_body(source, masks, nothing), (time, sink, nothing, *states)
            )
        outputs = sink.stack()
        return outputs[-1], outputs, tuple(final)

    def _run(self, body: Callable[..., Any], variables: tuple[Any, ...]) -> Any:
        return tf.while_loop(
            lambda time, *_: time < self.steps,
            body,
            variables,
            parallel_iterations=32,
            swap_memory=True,
        )

    def _body(self, source: Any) -> Callable[..., Any]:
        def body(time: Any, sink: Any, *states: Any) -> Any:
            output, new_states = self.step(source.read(time), states)
            _keep_shapes(states, new_states)
            sink = sink.write(time if self.all_outputs else 0, output)
            return (time + 1, sink, *new_states)

        return body

    def _masked_body(self, source: Any, masks: Any, nothing: Any) -> Callable[..., Any]:
        def body(time: Any, sink: Any, previous: Any, *states: Any) -> Any:
            value = source.read(time)
            mask = masks.read(time)
            output, new_states = self.step(value, states)
            (output,) = all_chosen(
                mask, [output], [nothing if self.zero else previous], mask.shape.rank
            )
            _keep_shapes(states, new_states)
            chosen = all_chosen(mask, new_states, states, mask.shape.rank)
            sink = sink.write(time if self.all_outputs else 0, output)
            return (time + 1, sink, output, *chosen)

        return body


class Unrolled:
    """As ops one after the other."""

    def __init__(
        self, step: Step, mask: Any, backwards: bool, zero: bool, all_outputs: bool
    ) -> None:
        self.step, self.mask = step, mask
        self.backwards, self.zero, self.all_outputs = backwards, zero, all_outputs

    def __call__(self, inputs: Any, states: tuple[Any, ...]) -> tuple[Any, Any, tuple[Any, ...]]:
        outputs: list[Any] = []
        masks = None if self.mask is None else self._in_order(self.mask)
        for index, value in enumerate(self._in_order(inputs)):
            output, new_states = self.step(value, states)
            if masks is None:
                states = tuple(new_states)
            else:
                previous = outputs[-1] if outputs else tf.zeros_like(output)
                output = _chosen(masks[index], output, previous, 1)
                states = all_chosen(masks[index], nest.flatten(new_states), states, 1)
            outputs = [*outputs, output] if self.all_outputs else [output]
        last, stacked = outputs[-1], tf.stack(outputs)
        if masks is not None and self.zero:
            last = _chosen(masks[-1], last, tf.zeros_like(last), 1)
            stacked = _chosen(self.mask, stacked, tf.zeros_like(stacked), 2)
        return last, stacked, states

    def _in_order(self, tensor: Any) -> list[Any]:
        steps = tf.unstack(tensor)
        return list(reversed(steps)) if self.backwards else steps


def _keep_shapes(states: Sequence[Any], new_states: Sequence[Any]) -> None:
    """A state must have the same shape in each iteration."""
    for state, new_state in zip(states, new_states, strict=True):
        new_state.set_shape(state.shape)
