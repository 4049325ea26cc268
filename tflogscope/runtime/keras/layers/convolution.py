"""Convolutions over images.

Told about: `keras/src/layers/convolutional/`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras import activations, initializers
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.checking import InputSpec

__all__ = ["Conv2D", "DepthwiseConv2D", "pair"]


def pair(value: Any, what: str) -> tuple[int, int]:
    """One or two positive ints as two. Raises ValueError for anything else."""
    values = (value, value) if isinstance(value, int) else tuple(value)
    if len(values) != 2 or any(not isinstance(each, int) or each <= 0 for each in values):
        raise ValueError(
            f"The `{what}` argument must be a tuple of 2 positive integers. Received: {value}"
        )
    return values


def check_output(layer: Any, input_shape: Any) -> None:
    """Raises ValueError if the window is larger than the image."""
    dims = tf.TensorShape(input_shape).as_list()
    for size, window, gap in zip(
        dims[-1 - len(layer.kernel_size) : -1], layer.kernel_size, layer.dilation_rate, strict=True
    ):
        reach = (window - 1) * gap + 1
        if layer.padding == "VALID" and size is not None and size < reach:
            raise ValueError(
                f"One of the dimensions in the output is <= 0 due to downsampling in {layer.name}. "
                f"Consider increasing the input size. Received input shape {dims} which would "
                "produce output shape with a zero or negative value in a dimension."
            )


def checked_padding(padding: str) -> str:
    """`VALID` or `SAME`. Raises ValueError for anything else."""
    if padding.lower() not in {"valid", "same"}:
        raise ValueError(
            f"The `padding` argument must be one of `valid` or `same`. Received: {padding}"
        )
    return padding.upper()


class _Convolution(Layer):
    """What both kinds share."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any,
        padding: str,
        data_format: str | None,
        dilation_rate: Any,
        **kwargs: Any,
    ) -> None:
        if data_format == "channels_first":
            raise NotInThisRuntime("data_format='channels_first'")
        self._activation_identifier = kwargs.pop("activation")
        self.use_bias = kwargs.pop("use_bias")
        self.bias_initializer = initializers.get(kwargs.pop("bias_initializer"))
        super().__init__(**kwargs)
        self.activation = activations.get(self._activation_identifier)
        self.kernel_size = pair(kernel_size, "kernel_size")
        self.strides = pair(strides, "strides")
        self.padding = checked_padding(padding)
        self.dilation_rate = pair(dilation_rate, "dilation_rate")
        self.input_spec = InputSpec(min_ndim=4)

    def _channels(self, input_shape: Any) -> int:
        channels = tf.TensorShape(input_shape)[-1]
        if channels is None:
            raise ValueError(
                "The channel dimension of the inputs should be defined. The input_shape received "
                f"is {input_shape}, where axis -1 (0-based) is the channel dimension, which found "
                "to be `None`."
            )
        self.input_spec = InputSpec(min_ndim=4, axes={-1: channels})
        return int(channels)

    def _finish(self, outputs: Any) -> Any:
        if self.bias is not None:
            outputs = tf.nn.bias_add(outputs, self.bias, data_format="NHWC")
        return self.activation(outputs)

    bias: Any = None


class Conv2D(_Convolution):
    """A window of weights moved over the image; `filters` of them."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        groups: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            kernel_size, strides, padding, data_format, dilation_rate,
            activation=activation, use_bias=use_bias, bias_initializer=bias_initializer, **kwargs,
        )  # fmt: skip
        if filters <= 0:
            raise ValueError(
                "Invalid value for argument `filters`. Expected a strictly positive value. "
                f"Received filters={filters}."
            )
        self.filters, self.groups = filters, groups
        self.kernel_initializer = initializers.get(kernel_initializer)

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        if channels % self.groups != 0:
            raise ValueError(
                "The number of input channels must be evenly divisible by the number of groups. "
                f"Received groups={self.groups}, but the input has {channels} channels (full input "
                f"shape is {input_shape})."
            )
        shape = (*self.kernel_size, channels // self.groups, self.filters)
        self.kernel = self.add_weight("kernel", shape, initializer=self.kernel_initializer)
        if self.use_bias:
            self.bias = self.add_weight("bias", (self.filters,), initializer=self.bias_initializer)
        check_output(self, input_shape)

    def call(self, inputs: Any) -> Any:
        outputs = tf.nn.convolution(
            inputs, self.kernel, strides=list(self.strides), padding=self.padding,
            dilations=list(self.dilation_rate), data_format="NHWC", name=type(self).__name__,
        )  # fmt: skip
        return self._finish(outputs)


class DepthwiseConv2D(_Convolution):
    """A window of its own for each channel."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            kernel_size, strides, padding, data_format, dilation_rate,
            activation=activation, use_bias=use_bias, bias_initializer=bias_initializer, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel", shape, initializer=self.depthwise_initializer
        )
        if self.use_bias:
            size = channels * self.depth_multiplier
            self.bias = self.add_weight("bias", (size,), initializer=self.bias_initializer)

    def call(self, inputs: Any) -> Any:
        outputs = tf.nn.depthwise_conv2d(
            inputs, self.depthwise_kernel, strides=(1, *self.strides, 1), padding=self.padding,
            dilations=self.dilation_rate, data_format="NHWC",
        )  # fmt: skip
        return self._finish(outputs)
