"""Convolutions and pools, of images. NB: channels come last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.core.context import op_scope
from tflogscope.runtime.keras import primitives
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.core import WithKernel
from tflogscope.runtime.keras.state import keras3
from tflogscope.runtime.library import nn, numbers


class _Windowed(Layer):
    def read(self, name: str, value: Any) -> Any:
        """NB: one number is the size of a window in both dimensions."""
        if name in {"kernel_size", "pool_size", "strides"} and isinstance(value, int):
            return value, value
        return value.upper() if name == "padding" else super().read(name, value)


_OF_WINDOW = {"kernel_size": ..., "strides": 1, "padding": "valid"}


class Conv2D(_Windowed, WithKernel):
    """A convolution of images."""

    options = {"filters": ...} | _OF_WINDOW
    label = "kernel"

    def _sizes(self, channels: int) -> tuple[int, int, int]:
        return channels, self.filters, self.filters

    def build(self, input_shape: Any) -> None:
        into, out, bias = self._sizes(input_shape[-1])
        label = "kernel" if keras3() else self.label
        self.make_kernel((*self.kernel_size, into, out), bias, label)

    def call(self, inputs: Any) -> Any:
        outputs = self._convolved(inputs)
        if self.bias is not None:
            outputs = primitives.add_bias(outputs, self.bias, of_window=True)
        return self.activation(outputs)

    def _convolved(self, inputs: Any) -> Any:
        with op_scope(None if keras3() else type(self).__name__, "convolution") as scope:
            return nn.conv2d(inputs, self.kernel, self.strides, self.padding, name=scope)


class DepthwiseConv2D(Conv2D):
    """A convolution of each channel of its own."""

    options = _OF_WINDOW | {"depth_multiplier": 1}
    label = "depthwise_kernel"

    def _sizes(self, channels: int) -> tuple[int, int, int]:
        return channels, self.depth_multiplier, channels * self.depth_multiplier

    def _convolved(self, inputs: Any) -> Any:
        return nn.depthwise_conv2d(inputs, self.kernel, (1, *self.strides, 1), self.padding)


class _Pooling(_Windowed):
    options = {"pool_size": 2, "strides": None, "padding": "valid"}
    pool: Callable[..., Any]
    label: str | None = None

    def call(self, inputs: Any) -> Any:
        sizes = self.pool_size, self.pool_size if self.strides is None else self.strides
        label = None if keras3() else self.label
        return type(self).pool(inputs, *sizes, self.padding, label)


class MaxPooling2D(_Pooling):
    """The largest in each window."""

    pool, label = staticmethod(nn.max_pool), "MaxPool"


class AveragePooling2D(_Pooling):
    """The mean of each window."""

    pool = staticmethod(nn.avg_pool)


class GlobalAveragePooling2D(Layer):
    """The mean of each channel."""

    axes: Any = [1, 2]

    def call(self, inputs: Any) -> Any:
        return numbers.reduce_mean(inputs, self.axes, False)


class GlobalAveragePooling1D(GlobalAveragePooling2D):
    """The mean over all steps."""

    axes = 1
