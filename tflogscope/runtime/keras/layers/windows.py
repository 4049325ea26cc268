"""Convolutions and pools, over one dimension or two. NB: channels come last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.keras import primitives
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.core import WithKernel
from tflogscope.runtime.keras.state import keras3
from tflogscope.runtime.library import arrays, nn, numbers


class _Windowed(Layer):
    rank = 2

    def read(self, name: str, value: Any) -> Any:
        """NB: one number is the size of a window in each dimension."""
        if name in {"kernel_size", "pool_size", "strides"} and value is not None:
            return (value,) * self.rank if isinstance(value, int) else tuple(value)
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
        name = None if keras3() else type(self).__name__
        return nn.convolution(inputs, self.kernel, self.strides, self.padding, name=name)


class Conv1D(Conv2D):
    """A convolution of sequences."""

    rank = 1


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

    def call(self, inputs: Any) -> Any:
        sizes, label = self.pool_size, None
        strides = sizes if self.strides is None else self.strides
        if not keras3() and self.pool is nn.max_pool:
            label = "MaxPool"
        if keras3() or self.rank == 2:
            return type(self).pool(inputs, sizes, strides, self.padding, label)
        image = O.ExpandDims(inputs, 2)  # NB: Keras 2 pools sequences as images one pixel wide
        sizes, strides = (1, *sizes, 1, 1), (1, *strides, 1, 1)
        return arrays.squeeze(type(self).pool(image, sizes, strides, self.padding, label), [2])


class MaxPooling2D(_Pooling):
    """The largest in each window."""

    pool = staticmethod(nn.max_pool)


class AveragePooling2D(_Pooling):
    """The mean of each window."""

    pool = staticmethod(nn.avg_pool)


class MaxPooling1D(MaxPooling2D):
    """The largest in each window of steps."""

    rank = 1


class GlobalAveragePooling2D(Layer):
    """The mean of each channel."""

    axes: Any = [1, 2]

    def call(self, inputs: Any) -> Any:
        return numbers.reduce_mean(inputs, self.axes, False)


class GlobalAveragePooling1D(GlobalAveragePooling2D):
    """The mean over all steps."""

    axes = 1
