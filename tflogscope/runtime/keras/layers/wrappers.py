"""Layers around a layer: for each time step, or in both directions.

Told about: `keras/src/layers/rnn/time_distributed.py`, `bidirectional.py`.
"""

from __future__ import annotations

import copy
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.layers.base import Layer

__all__ = ["Bidirectional", "TimeDistributed", "Wrapper"]


class Wrapper(Layer):
    """Holds a layer."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape: Any) -> None:
        """The weights of the layer inside, whose `build` is no call: it opens no scope."""
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        self.built = True


class TimeDistributed(Wrapper):
    """The layer on each time step, all steps as one batch."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        super().build(tf.TensorShape([input_shape[0], *input_shape[2:]]))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """That of the inputs. NB: for the layer's own mask Keras puts the steps together again."""
        tf.reshape(inputs, [-1, *inputs.shape.as_list()[2:]])
        return mask

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        del mask
        keywords = {"training": training} if self.layer._expects("training") else {}
        shape = inputs.shape.as_list()
        steps = tf.shape(inputs)[1] if shape[1] is None else shape[1]
        together = tf.reshape(inputs, [-1, *shape[2:]])
        outputs = self.layer(together, **keywords)
        return tf.reshape(outputs, [-1, steps, *outputs.shape.as_list()[1:]])


class Bidirectional(Wrapper):
    """A recurrent layer over the sequence, and a copy of it backwards; `merge_mode` says what
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
        if merge_mode not in {"sum", "mul", "ave", "concat", None}:
            raise ValueError(
                f"Invalid merge mode. Received: {merge_mode}. Merge mode should be one of "
                '{"sum", "mul", "ave", "concat", None}'
            )
        if weights is not None:
            raise NotInThisRuntime("Bidirectional(weights=...)")
        super().__init__(layer, **kwargs)
        object.__setattr__(self, "layer", layer)
        self._children[:] = []  # it holds two copies and not the layer itself
        self.forward_layer = _copied(layer, f"forward_{layer.name}")
        self.backward_layer = backward_layer or _copied(
            layer, f"backward_{layer.name}", backwards=not layer.go_backwards
        )
        for each in (self.forward_layer, self.backward_layer):
            if getattr(each, "zero_output_for_mask", None) is not None:
                each.zero_output_for_mask = each.return_sequences
        self.merge_mode = merge_mode
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        for layer in (self.forward_layer, self.backward_layer):
            with tf.name_scope(layer.name):
                layer.build(input_shape)
            layer.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        del inputs
        if not self.return_sequences or isinstance(mask, list):
            mask = None
        if self.merge_mode is None:
            mask = [mask, mask]
        if not self.return_state:
            return mask
        states = [None] * (2 * len(self.forward_layer._state_sizes()))
        return [*(mask if isinstance(mask, list) else [mask]), *states]

    def call(
        self, inputs: Any, training: Any = None, mask: Any = None, initial_state: Any = None
    ) -> Any:
        keywords = {"training": training, "mask": mask}
        half = 0 if initial_state is None else len(initial_state) // 2
        of_forward = {"initial_state": initial_state[:half]} if half else {}
        of_backward = {"initial_state": initial_state[half:]} if half else {}
        forward = self.forward_layer(inputs, **keywords, **of_forward)
        backward = self.backward_layer(inputs, **keywords, **of_backward)
        states: list[Any] = []
        if self.return_state:
            states = [*forward[1:], *backward[1:]]
            forward, backward = forward[0], backward[0]
        if self.return_sequences:
            backward = tf.reverse(backward, [1])
        merged = self._merged(forward, backward)
        if not states:
            return merged
        return [*(merged if isinstance(merged, list) else [merged]), *states]

    def _merged(self, forward: Any, backward: Any) -> Any:
        if self.merge_mode is None:
            return [forward, backward]
        if self.merge_mode == "concat":
            return tf.concat([forward, backward], axis=-1)
        if self.merge_mode == "sum":
            return forward + backward
        return (forward + backward) / 2 if self.merge_mode == "ave" else forward * backward


def _copied(layer: Any, name: str, *, backwards: bool | None = None) -> Any:
    """A layer made with the same arguments, under another name."""
    arguments, keywords = layer._made_with
    keywords = dict(keywords) | {"name": name}
    keywords |= {
        key: copy.deepcopy(value) for key, value in keywords.items() if key.endswith("_initializer")
    }
    if backwards is not None:
        keywords["go_backwards"] = backwards
    return type(layer)(*arguments, **keywords)
