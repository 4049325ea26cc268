"""Layers that disturb or hide their inputs.

Told about: `keras/src/layers/regularization/`, `core/masking.py`.
"""

from __future__ import annotations

import math
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import backend, regularizers
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras.layers.core import Dropout

__all__ = [
    "ActivityRegularization", "AlphaDropout", "GaussianDropout", "GaussianNoise", "Masking",
    "SpatialDropout1D", "SpatialDropout2D",
]  # fmt: skip


_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


class SpatialDropout1D(Dropout):
    """Dropout of whole channels of a sequence."""

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.input_spec = InputSpec(ndim=3)

    def _noise_shape(self, inputs: Any) -> Any:
        shape = tf.shape(inputs)
        return (shape[0], 1, shape[2])


class SpatialDropout2D(Dropout):
    """Dropout of whole channels of an image."""

    def __init__(self, rate: float, data_format: str | None = None, **kwargs: Any) -> None:
        del data_format
        super().__init__(rate, **kwargs)
        self.input_spec = InputSpec(ndim=4)

    def _noise_shape(self, inputs: Any) -> Any:
        shape = tf.shape(inputs)
        return (shape[0], 1, 1, shape[3])


class _Noisy(Layer):
    """Changes its inputs in training only."""

    def __init__(self, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._random_generator = backend.RandomGenerator(seed)
        self.supports_masking = True

    def noised(self, inputs: Any) -> Any:
        """The inputs in training."""
        raise NotImplementedError

    def call(self, inputs: Any, training: Any = None) -> Any:
        if training is None:
            training = backend.learning_phase()
        return backend.smart_cond(training, lambda: self.noised(inputs), lambda: inputs)


class GaussianNoise(_Noisy):
    """Adds noise."""

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(seed, **kwargs)
        self.stddev = stddev

    def noised(self, inputs: Any) -> Any:
        return inputs + self._random_generator.normal(
            tf.shape(inputs), 0.0, self.stddev, inputs.dtype
        )


class GaussianDropout(_Noisy):
    """Multiplies with noise around 1."""

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(seed, **kwargs)
        self.rate = rate

    def noised(self, inputs: Any) -> Any:
        stddev = math.sqrt(self.rate / (1 - self.rate))
        return inputs * self._random_generator.normal(tf.shape(inputs), 1.0, stddev, inputs.dtype)


class AlphaDropout(_Noisy):
    """Dropout for `selu`: what is hidden becomes its lowest value, then all is scaled so that mean
    and variance stay.
    """

    def __init__(
        self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(seed, **kwargs)
        self.rate, self.noise_shape = rate, noise_shape

    def call(self, inputs: Any, training: Any = None) -> Any:
        return super().call(inputs, training) if 0.0 < self.rate < 1.0 else inputs

    def noised(self, inputs: Any) -> Any:
        lowest = -_SELU_ALPHA * _SELU_SCALE
        shape = self.noise_shape or tf.shape(inputs)
        drawn = self._random_generator.uniform(shape, 0.0, 1.0, backend.floatx())
        kept = tf.cast(tf.greater_equal(drawn, self.rate), inputs.dtype)
        factor = ((1 - self.rate) * (1 + self.rate * lowest**2)) ** -0.5
        return factor * (inputs * kept + lowest * (1 - kept)) + -factor * lowest * self.rate


class ActivityRegularization(Layer):
    """Passes on its inputs, which count in the loss."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.supports_masking = True


class Masking(Layer):
    """Steps whose features are all `mask_value` are no steps."""

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mask_value = mask_value
        self.supports_masking = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        del mask
        return tf.reduce_any(tf.not_equal(inputs, self.mask_value), axis=-1)

    def call(self, inputs: Any) -> Any:
        something = tf.reduce_any(tf.not_equal(inputs, self.mask_value), axis=-1, keepdims=True)
        outputs = inputs * tf.cast(something, inputs.dtype)
        outputs._keras_mask = tf.squeeze(something, axis=-1)
        return outputs
