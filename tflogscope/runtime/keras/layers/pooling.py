"""Pooling over windows of an image, or over all of it.

Told about: `keras/src/layers/pooling/`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras import backend
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras.layers.convolution import checked_padding, pair

__all__ = [
    "AveragePooling1D", "AveragePooling2D", "AvgPool2D", "GlobalAveragePooling1D",
    "GlobalAveragePooling2D", "GlobalMaxPooling1D", "GlobalMaxPooling2D", "MaxPool2D",
    "MaxPooling1D", "MaxPooling2D",
]  # fmt: skip


class _Pooling2D(Layer):
    def __init__(
        self,
        pool_size: Any = (2, 2),
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if data_format == "channels_first":
            raise NotInThisRuntime("data_format='channels_first'")
        self.pool_size = pair(pool_size, "pool_size")
        self.strides = pair(pool_size if strides is None else strides, "strides")
        self.padding = checked_padding(padding)
        self.input_spec = InputSpec(ndim=4)

    def _pool(self, function: Callable[..., Any], inputs: Any, name: str | None = None) -> Any:
        return function(
            inputs,
            ksize=(1, *self.pool_size, 1),
            strides=(1, *self.strides, 1),
            padding=self.padding,
            data_format="NHWC",
            name=name,
        )


class MaxPooling2D(_Pooling2D):
    """The largest value in each window."""

    def call(self, inputs: Any) -> Any:
        return self._pool(tf.nn.max_pool, inputs, name="MaxPool")


class AveragePooling2D(_Pooling2D):
    """The mean of each window."""

    def call(self, inputs: Any) -> Any:
        return self._pool(tf.nn.avg_pool, inputs)


class _Pooling1D(Layer):
    """Over a sequence, as an image of one row more."""

    def __init__(
        self, pool_size: Any = 2, strides: Any = None, padding: str = "valid", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.pool_size = pool_size if isinstance(pool_size, int) else pool_size[0]
        self.strides = self.pool_size if strides is None else strides
        self.padding = checked_padding(padding)
        self.input_spec = InputSpec(ndim=3)

    def _pool(self, function: Callable[..., Any], inputs: Any, name: str | None = None) -> Any:
        image = tf.expand_dims(inputs, 2)
        pooled = function(
            image, (1, self.pool_size, 1, 1), (1, self.strides, 1, 1), padding=self.padding,
            name=name,
        )  # fmt: skip
        return tf.squeeze(pooled, 2)


class MaxPooling1D(_Pooling1D):
    """The largest value in each window of steps."""

    def call(self, inputs: Any) -> Any:
        return self._pool(tf.nn.max_pool, inputs, name="MaxPool")


class AveragePooling1D(_Pooling1D):
    """The mean of each window of steps."""

    def call(self, inputs: Any) -> Any:
        return self._pool(tf.nn.avg_pool2d, inputs, name="AvgPool")


MaxPool2D, AvgPool2D = MaxPooling2D, AveragePooling2D


class _GlobalPooling(Layer):
    axes: ClassVar[Any]

    def __init__(
        self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if data_format == "channels_first":
            raise NotInThisRuntime("data_format='channels_first'")
        self.keepdims = keepdims
        self.input_spec = InputSpec(ndim=3 if self.axes == 1 else 4)


class GlobalAveragePooling2D(_GlobalPooling):
    """The mean over height and width."""

    axes = (1, 2)

    def call(self, inputs: Any) -> Any:
        return backend.mean(inputs, [1, 2], keepdims=self.keepdims)


class GlobalMaxPooling2D(_GlobalPooling):
    """The largest value over height and width."""

    axes = (1, 2)

    def call(self, inputs: Any) -> Any:
        return tf.reduce_max(inputs, [1, 2], self.keepdims)


class GlobalAveragePooling1D(_GlobalPooling):
    """The mean over the steps, masked ones left out."""

    axes = 1

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None:
            return backend.mean(inputs, 1, keepdims=self.keepdims)
        mask = tf.expand_dims(tf.cast(mask, inputs.dtype), 2)
        inputs *= mask
        total = tf.reduce_sum(inputs, 1, self.keepdims)
        return total / tf.reduce_sum(mask, axis=1, keepdims=self.keepdims)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The steps are gone, and the mask with them."""
        del inputs, mask


class GlobalMaxPooling1D(_GlobalPooling):
    """The largest value over the steps."""

    axes = 1

    def call(self, inputs: Any) -> Any:
        return tf.reduce_max(inputs, 1, self.keepdims)
