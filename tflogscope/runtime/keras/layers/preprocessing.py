"""Layers that bring inputs into a better range.

Told about: `keras/src/layers/preprocessing/normalization.py`, `image_preprocessing.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import backend
from tflogscope.runtime.keras.layers.base import Layer

__all__ = ["Normalization", "Rescaling"]


class Rescaling(Layer):
    """inputs * scale + offset."""

    def __init__(self, scale: Any, offset: Any = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale, self.offset = scale, offset

    def call(self, inputs: Any) -> Any:
        scale, offset = (
            tf.cast(self.scale, self.compute_dtype),
            tf.cast(self.offset, self.compute_dtype),
        )
        return tf.cast(inputs, self.compute_dtype) * scale + offset


class Normalization(Layer):
    """Mean 0 and variance 1 along an axis: as given, or as `adapt` finds them in data."""

    def __init__(
        self, axis: int | None = -1, mean: Any = None, variance: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if (mean is None) != (variance is None):
            raise ValueError(
                "When setting values directly, both `mean` and `variance` must be set. Got mean: "
                f"{mean} and variance: {variance}"
            )
        self.axis = axis
        self.input_mean, self.input_variance = mean, variance
        self._of_inputs: tuple[Any, ...] = ()
        self.mean: Any = None
        self.variance: Any = None

    def build(self, input_shape: Any) -> None:
        self.__dict__["_of_inputs"] = tuple(input_shape)
        size = () if self.axis is None else (input_shape[self.axis],)
        if self.input_mean is not None:
            self._set(
                np.broadcast_to(self.input_mean, size), np.broadcast_to(self.input_variance, size)
            )
            return
        self.adapt_mean = self.add_weight("mean", size, initializer="zeros", trainable=False)
        self.adapt_variance = self.add_weight("variance", size, initializer="ones", trainable=False)
        self.count = self.add_weight(
            "count", (), dtype=tf.int64, initializer="zeros", trainable=False
        )
        self._set(self.adapt_mean, self.adapt_variance)

    def _set(self, mean: Any, variance: Any) -> None:
        """What is taken from inputs, in their rank: as values, also where the layer is traced."""
        shape = [1] * len(self._of_inputs)
        if self.axis is not None:
            shape[self.axis] = -1
        with tf.init_scope():
            shaped = [tf.reshape(tf.convert_to_tensor(each), shape) for each in (mean, variance)]
            mean, variance = (tf.cast(each, self.compute_dtype) for each in shaped)
        vars(self).update(mean=mean, variance=variance)

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Take mean and variance from an array or a dataset of batches."""
        del batch_size
        batches = (
            list(data.take(steps or -1).as_numpy_iterator())
            if isinstance(data, tf.data.Dataset)
            else [data]
        )
        values = np.concatenate([np.asarray(batch, np.float32) for batch in batches])
        if values.ndim == 1 and self.axis is not None:
            values = values[:, np.newaxis]
        if not self.built:
            with tf.name_scope(self.name):
                self.build(values.shape)
            self.built = True
        axes = tuple(
            k for k in range(values.ndim) if self.axis is None or k != self.axis % values.ndim
        )
        self.adapt_mean.assign(values.mean(axes))
        self.adapt_variance.assign(values.var(axes))
        self.count.assign(len(values))
        self._set(self.adapt_mean, self.adapt_variance)

    def call(self, inputs: Any) -> Any:
        inputs = tf.cast(inputs, self.compute_dtype)
        return (inputs - self.mean) / tf.maximum(tf.sqrt(self.variance), backend.epsilon())
