"""Layers around a layer: for each time step, or in both directions.

Told about: `keras/src/layers/core/wrapper.py`, `keras/src/layers/rnn/time_distributed.py`,
`bidirectional.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras3 import ops
from tflogscope.runtime.keras3.layers.base import Layer
from tflogscope.runtime.keras3.layers.recurrent import GRU, LSTM

__all__ = ["Bidirectional", "TimeDistributed", "Wrapper"]


class Wrapper(Layer):
    """Holds a layer. Raises ValueError for what is none."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        _check_layer(layer, type(self).__name__)
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape: Any = None) -> None:
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True


def _check_layer(layer: Any, kind: str) -> None:
    if not isinstance(layer, Layer):
        raise ValueError(
            f"Please initialize `{kind}` layer with a `keras.layers.Layer` instance. "
            f"Received: {layer}"
        )


class TimeDistributed(Wrapper):
    """The layer on each time step: one after the other if their number is known."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def build(self, input_shape: Any = None) -> None:
        super().build((input_shape[0], *input_shape[2:]))

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        steps = ops.shape(inputs)[1]
        inputs = _swapped(inputs)
        mask = None if mask is None else _swapped(mask)

        def on_step(number: Any) -> Any:
            keywords = {}
            if mask is not None and self.layer.takes("mask"):
                keywords["mask"] = mask[number]
            if self.layer.takes("training"):
                keywords["training"] = training
            return self.layer.call(inputs[number], **keywords)

        if inputs.shape[0] is not None:
            return _swapped(ops.stack([on_step(number) for number in range(inputs.shape[0])]))
        return _swapped(tf.vectorized_map(on_step, tf.range(steps)))


def _swapped(tensor: Any) -> Any:
    """Batch and time change places."""
    return ops.transpose(tensor, axes=[1, 0, *range(2, len(tensor.shape))])


class Bidirectional(Layer):
    """A copy of a recurrent layer over the sequence, and one backwards; `merge_mode` says what
    becomes of the two outputs.
    """

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Any = None,
        backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError for what is no layer and for an unknown mode, NotInThisRuntime for
        `weights`.
        """
        _check_layer(layer, "Bidirectional")
        if merge_mode not in {"sum", "mul", "ave", "concat", None}:
            raise ValueError(
                f"Invalid merge mode. Received: {merge_mode}. Merge mode should be one of "
                '{"sum", "mul", "ave", "concat", None}'
            )
        if weights is not None:
            raise NotInThisRuntime("Bidirectional(weights=...)")
        super().__init__(**kwargs)
        self.forward_layer = layer.copied(name=f"forward_{layer.name.removeprefix('forward_')}")
        self.backward_layer = backward_layer or layer.copied(
            name=f"backward_{layer.name.removeprefix('backward_')}", go_backwards=True
        )
        for each in (self.forward_layer, self.backward_layer):
            if getattr(each, "zero_output_for_mask", None) is not None:
                each.zero_output_for_mask = each.return_sequences
        self.merge_mode = merge_mode
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state
        self.supports_masking = True
        self.input_spec = layer.input_spec

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        del initial_state_shape
        for layer in (self.forward_layer, self.backward_layer):
            if not layer.built:
                layer.build(sequences_shape)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The input's mask for sequences of outputs; none for the last outputs and the states."""
        del inputs
        mask = mask[0] if isinstance(mask, list) else mask
        mask = mask if self.return_sequences else None
        return mask if self.merge_mode else (mask, mask)

    def call(
        self, sequences: Any, initial_state: Any = None, mask: Any = None, training: Any = None
    ) -> Any:
        self._try_fused(sequences, initial_state, mask)
        keywords: dict[str, Any] = {}
        if self.forward_layer.takes("training"):
            keywords["training"] = training
        if self.forward_layer.takes("mask"):
            keywords["mask"] = mask
        half = 0 if initial_state is None else len(initial_state) // 2
        states = (initial_state[:half], initial_state[half:]) if half else (None, None)
        one = self.forward_layer(sequences, initial_state=states[0], **keywords)
        other = self.backward_layer(sequences, initial_state=states[1], **keywords)
        last: tuple[Any, ...] = ()
        if self.return_state:
            last = (*one[1:], *other[1:])
            one, other = one[0], other[0]
        if self.return_sequences:
            other = ops.flip(other, axis=1)
        if self.merge_mode is None:
            return (one, other, *last)
        merged = self._merged(one, other)
        return (merged, *last) if last else merged

    def _try_fused(self, sequences: Any, initial_state: Any, mask: Any) -> None:
        """Keras begins with one op for both directions, and finds out that this backend has none:
        what it made until then stays in the graph.
        """
        pair = self.forward_layer, self.backward_layer
        kind = next((kind for kind in (LSTM, GRU) if all(isinstance(p, kind) for p in pair)), None)
        if kind is None or mask is not None or initial_state is not None:
            return
        cells = [each.cell for each in pair]
        alike = all(
            getattr(cells[0], name) is getattr(cells[1], name)
            for name in ("units", "activation", "recurrent_activation")
        )
        simple = all(cell.use_bias and not cell.dropout for cell in cells)
        simple = simple and all(getattr(cell, "reset_after", True) for cell in cells)
        if alike and simple and all(each.built and each.may_fuse for each in pair):
            ops.zeros((ops.shape(sequences)[0], cells[0].units), dtype=sequences.dtype)

    def _merged(self, one: Any, other: Any) -> Any:
        if self.merge_mode == "concat":
            return ops.concatenate([one, other], axis=-1)
        if self.merge_mode == "sum":
            return one + other
        return (one + other) / 2 if self.merge_mode == "ave" else one * other
