"""Layers that only do something in training: noise, and what is dropped together.

Told about: `keras/src/layers/regularization/`.
"""

from __future__ import annotations

import math
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras3 import ops, random, regularizers
from tflogscope.runtime.keras3.layers.base import Layer
from tflogscope.runtime.keras3.layers.core import Dropout

__all__ = [
    "ActivityRegularization", "AlphaDropout", "GaussianDropout", "GaussianNoise",
    "SpatialDropout1D", "SpatialDropout2D",
]  # fmt: skip

_ALPHA, _SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


class ActivityRegularization(Layer):
    """The inputs, which cost something."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.supports_masking = self.built = True

    def call(self, inputs: Any) -> Any:
        return inputs


class _Drawing(Layer):
    def __init__(self, amount: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._amount = amount
        if amount > 0:
            self.seed_generator = random.SeedGenerator(seed)
        self.supports_masking = self.built = True

    def _normal(self, inputs: Any, mean: float, stddev: float) -> Any:
        return random.normal(
            shape=ops.shape(inputs), mean=mean, stddev=stddev, dtype=self.compute_dtype,
            seed=self.seed_generator,
        )  # fmt: skip


class GaussianNoise(_Drawing):
    """Normally distributed numbers added."""

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(stddev, seed, **kwargs)
        self.stddev = stddev

    def call(self, inputs: Any, training: bool = False) -> Any:
        noisy = training and self.stddev > 0
        return inputs + self._normal(inputs, 0.0, self.stddev) if noisy else inputs


class GaussianDropout(_Drawing):
    """Multiplied by numbers around 1."""

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(rate, seed, **kwargs)
        self.rate = rate

    def call(self, inputs: Any, training: bool = False) -> Any:
        if not training or self.rate == 0:
            return inputs
        return inputs * self._normal(inputs, 1.0, math.sqrt(self.rate / (1.0 - self.rate)))


class AlphaDropout(_Drawing):
    """Dropout that keeps mean and variance, for `selu`.

    NB: that of `tf.keras` is an older one than that of `keras`. Told about:
    `keras/src/legacy/layers.py`.
    """

    def __init__(
        self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(rate, seed, **kwargs)
        self.rate, self.noise_shape = rate, noise_shape

    def call(self, inputs: Any, training: bool = False) -> Any:
        if not training or self.rate == 0:
            return inputs
        least, rate = -_ALPHA * _SCALE, self.rate
        shape = tf.shape(inputs) if self.noise_shape is None else self.noise_shape
        drawn = random.uniform(shape, seed=self.seed_generator)
        kept: Any = tf.cast(tf.greater_equal(drawn, rate), inputs.dtype)
        a = ((1 - rate) * (1 + rate * least**2)) ** -0.5
        b = -a * least * rate
        return a * (inputs * kept + least * (1 - kept)) + b


class SpatialDropout1D(Dropout):
    """Whole channels dropped."""

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(rate, seed=seed, **kwargs)
        self.input_spec = InputSpec(ndim=3)

    def call(self, inputs: Any, training: bool = False) -> Any:
        if not training or self.rate == 0:
            return inputs
        batch, *inner, channels = ops.shape(inputs)
        shape = (batch, *(1 for _ in inner), channels)
        return random.dropout(inputs, self.rate, shape, self.seed_generator)


class SpatialDropout2D(SpatialDropout1D):
    """The same for images. Raises NotInThisRuntime for channels first."""

    def __init__(
        self, rate: float, data_format: str | None = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        if data_format == "channels_first":
            raise NotInThisRuntime("Keras 3's SpatialDropout2D with channels first")
        super().__init__(rate, seed, **kwargs)
        self.input_spec = InputSpec(ndim=4)
