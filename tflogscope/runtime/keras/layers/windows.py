"""Convolutions and pools, over one dimension or two. NB: channels come last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.keras import primitives
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.state import keras3
from tflogscope.runtime.library import arrays, nn, numbers


class _Windowed(Layer):
    rank = 2

    def read(self, name: str, value: Any) -> Any:
        """NB: one number is the size of a window in each dimension."""
        if name in {"kernel_size", "pool_size", "strides", "dilation_rate"} and value is not None:
            return (value,) * self.rank if isinstance(value, int) else tuple(value)
        return value.upper() if name == "padding" else super().read(name, value)

    @property
    def form(self) -> str:
        """`data_format` of TensorFlow's ops."""
        return "NWC" if self.rank == 1 else "NHWC"


class Conv2D(_Windowed):
    """A convolution of images."""

    options = {
        "filters": ...,
        "kernel_size": ...,
        "strides": 1,
        "padding": "valid",
        "dilation_rate": 1,
        "activation": None,
        "use_bias": True,
        "kernel_initializer": "glorot_uniform",
        "bias_initializer": "zeros",
    }
    label = "kernel"

    def _sizes(self, channels: int) -> tuple[int, int, int]:
        return channels, self.filters, self.filters

    def build(self, input_shape: Any) -> None:
        into, out, bias = self._sizes(input_shape[-1])
        shape = (*self.kernel_size, into, out)
        label = "kernel" if keras3() else self.label
        self.kernel = self.add_weight(label, shape, initializer=self.kernel_initializer)
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight("bias", (bias,), initializer=self.bias_initializer)

    def call(self, inputs: Any) -> Any:
        outputs = self._convolved(inputs)
        if self.bias is not None:
            outputs = primitives.add_bias(outputs, self.bias, of_window=True)
        return self.activation(outputs)

    def _convolved(self, inputs: Any) -> Any:
        name = None if keras3() else type(self).__name__
        strides, rates = list(self.strides), list(self.dilation_rate)
        return nn.convolution(inputs, self.kernel, strides, self.padding, self.form, rates, name)


class Conv1D(Conv2D):
    """A convolution of sequences."""

    rank = 1


class DepthwiseConv2D(Conv2D):
    """A convolution of each channel of its own."""

    options = {
        "kernel_size": ...,
        "strides": 1,
        "padding": "valid",
        "depth_multiplier": 1,
        "activation": None,
        "use_bias": True,
        "depthwise_initializer": "glorot_uniform",
        "bias_initializer": "zeros",
    }
    label = "depthwise_kernel"
    kernel_initializer = property(lambda self: self.depthwise_initializer)

    def _sizes(self, channels: int) -> tuple[int, int, int]:
        return channels, self.depth_multiplier, channels * self.depth_multiplier

    def _convolved(self, inputs: Any) -> Any:
        steps = (1, *self.strides, 1)
        return nn.depthwise_conv2d(inputs, self.kernel, steps, self.padding, data_format="NHWC")


class _Pooling(_Windowed):
    options = {"pool_size": 2, "strides": None, "padding": "valid"}
    pool: Callable[..., Any]

    def call(self, inputs: Any) -> Any:
        sizes, label = self.pool_size, None
        strides = sizes if self.strides is None else self.strides
        if not keras3() and self.pool is nn.max_pool:
            label = "MaxPool"
        if keras3() or self.rank == 2:
            return type(self).pool(inputs, sizes, strides, self.padding, self.form, label)
        image = O.ExpandDims(inputs, 2)  # NB: Keras 2 pools sequences as images one pixel wide
        sizes, strides = (1, *sizes, 1, 1), (1, *strides, 1, 1)
        pooled = type(self).pool(image, sizes, strides, self.padding, "NHWC", label)
        return arrays.squeeze(pooled, [2])


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
