"""LSTM and GRU as a GPU's one kernel. On a CPU it is traced beside the loop, and never runs; what
shows is that the functions that come after it have higher numbers in their names.

Told about: `gpu_lstm`, `gpu_gru` of `keras/src/layers/rnn/lstm.py`, `gru.py`; `gru_lstm_utils.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.backend import smart_cond

__all__ = ["gpu_gru", "gpu_lstm", "with_fallback"]


def with_fallback(gpu: Callable[..., Any], standard: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes the GPU's way if the mask allows that, else the standard one."""
    signature = inspect.signature(standard)

    def choose(*values: Any, **named: Any) -> Any:
        arguments = signature.bind(*values, **named).arguments
        shared = {key: each for key, each in arguments.items() if key != "zero_output_for_mask"}
        return smart_cond(
            _is_supported(shared["mask"], shared["time_major"]),
            lambda: gpu(**shared),
            lambda: standard(**arguments),
        )

    choose.__name__ = f"{gpu.__name__}_with_fallback"
    choose.__signature__ = signature  # type: ignore[attr-defined]
    return choose


def _is_supported(mask: Any, time_major: bool) -> Any:
    """Is only the end of each sequence masked, and of none all of it?"""
    if mask is None:
        return True
    if time_major:
        mask = tf.transpose(mask)
    longest = tf.shape(mask)[1]
    lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    padded = tf.sequence_mask(lengths, maxlen=longest)
    right = tf.reduce_all(tf.equal(mask, padded))
    empty = tf.reduce_any(tf.reduce_all(tf.logical_not(mask), axis=1))
    return tf.logical_and(right, tf.logical_not(empty))


def gpu_lstm(
    inputs: Any, init_h: Any, init_c: Any, kernel: Any, recurrent_kernel: Any, bias: Any,
    **how: Any,
) -> Any:  # fmt: skip
    """Last output, all outputs, the two states, and which implementation it was."""
    run = _Run(inputs, **how)
    init_h, init_c = run.with_layer(init_h), run.with_layer(init_c)
    weights = tf.split(kernel, 4, axis=1)
    weights += tf.split(recurrent_kernel, 4, axis=1)
    full_bias = tf.concat((tf.zeros_like(bias), bias), 0)
    params = _parameters(weights, tf.split(full_bias, 8))
    return run("lstm", init_h, init_c, params)


def gpu_gru(
    inputs: Any, init_h: Any, kernel: Any, recurrent_kernel: Any, bias: Any, **how: Any
) -> Any:
    """Last output, all outputs, the state, and which implementation it was.

    NB: which gate comes first differs between builds with and without CUDA; the nodes don't.
    """
    run = _Run(inputs, **how)
    init_h = run.with_layer(init_h)
    weights = tf.split(kernel, 3, axis=1)
    weights += tf.split(recurrent_kernel, 3, axis=1)
    biases = tf.split(tf.reshape(bias, [-1]), 6)
    return run("gru", init_h, 0, _parameters(weights, biases))


def _parameters(weights: Sequence[Any], biases: Sequence[Any]) -> Any:
    """All of them, one after another."""
    flat = tf.constant([-1])
    parts = [tf.reshape(tf.transpose(each), flat) for each in weights]
    parts += [tf.reshape(each, flat) for each in biases]
    return tf.concat(parts, axis=0)


class _Run:
    """What is before and after the kernel."""

    def __init__(
        self, inputs: Any, *, mask: Any, time_major: bool, go_backwards: bool,
        sequence_lengths: Any, return_sequences: bool,
    ) -> None:  # fmt: skip
        self.time_major, self.go_backwards = time_major, go_backwards
        self.return_sequences = return_sequences
        self.lengths = sequence_lengths
        if mask is not None:
            axis = 0 if time_major else 1
            self.lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=axis)
        self.turns = not time_major and self.lengths is None  # time comes first without lengths
        if self.turns:
            inputs = tf.transpose(inputs, perm=(1, 0, 2))
        self.inputs = inputs
        self.axes = (0, 1) if self.turns or time_major else (1, 0)

    def with_layer(self, state: Any) -> Any:
        """The state with a dimension for the one layer."""
        return tf.expand_dims(state, axis=self.axes[0])

    def __call__(self, mode: str, init_h: Any, init_c: Any, params: Any) -> Any:
        outputs, *states = self._kernel(mode, init_h, init_c, params)
        last = outputs[-1]
        if self.turns and self.return_sequences:
            outputs = tf.transpose(outputs, perm=[1, 0, 2])
        states = [tf.squeeze(each, axis=self.axes[0]) for each in states]
        if self.lengths is not None:
            last = states[0]
        if not self.return_sequences:
            outputs = tf.expand_dims(last, axis=0 if self.time_major else 1)
        with tf.device("/cpu:0"):
            runtime = tf.constant(2, dtype=tf.float32, name="runtime")
        return last, outputs, *states, runtime

    def _kernel(self, mode: str, init_h: Any, init_c: Any, params: Any) -> Any:
        shared = {"input_h": init_h, "input_c": init_c, "params": params, "rnn_mode": mode}
        count = 3 if mode == "lstm" else 2
        if self.lengths is None:
            inputs = tf.reverse(self.inputs, axis=[0]) if self.go_backwards else self.inputs
            return tf.raw_ops.CudnnRNN(input=inputs, is_training=True, **shared)[:count]
        inputs = self._reversed(self.inputs)
        outputs, *states = tf.raw_ops.CudnnRNNV3(
            input=inputs, is_training=True, sequence_lengths=self.lengths,
            time_major=self.time_major, **shared,
        )[:count]  # fmt: skip
        outputs = self._reversed(outputs)
        if self.go_backwards:
            outputs = tf.reverse(outputs, axis=[self.axes[0]])
        return outputs, *states

    def _reversed(self, sequences: Any) -> Any:
        if not self.go_backwards:
            return sequences
        time, batch = self.axes
        return tf.reverse_sequence(sequences, self.lengths, seq_axis=time, batch_axis=batch)
