"""Activations with something to learn or to set.

Told about: `keras/src/layers/activation/`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import initializers
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.checking import InputSpec

__all__ = ["PReLU", "ThresholdedReLU"]


class PReLU(Layer):
    """x, or alpha * x below 0, with an alpha that is learned."""

    def __init__(
        self, alpha_initializer: Any = "zeros", shared_axes: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.alpha_initializer = initializers.get(alpha_initializer)
        axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes
        self.shared_axes = axes and list(axes)

    def build(self, input_shape: Any) -> None:
        shape = list(input_shape[1:])
        for axis in self.shared_axes or ():
            shape[axis - 1] = 1
        self.alpha = self.add_weight("alpha", shape, initializer=self.alpha_initializer)
        self.input_spec = InputSpec(ndim=len(input_shape))

    def call(self, inputs: Any) -> Any:
        return tf.nn.relu(inputs) + -self.alpha * tf.nn.relu(-inputs)


class ThresholdedReLU(Layer):
    """x above `theta`, else 0."""

    def __init__(self, theta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.theta = theta

    def call(self, inputs: Any) -> Any:
        return inputs * tf.cast(tf.greater(inputs, self.theta), inputs.dtype)
