"""Convolutions beside the plain one: over sequences, transposed, separable.

Told about: `keras/src/layers/convolutional/`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import activations, initializers
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras.layers.convolution import Conv2D, checked_padding

__all__ = ["Conv1D", "Conv2DTranspose", "SeparableConv2D"]


def _single(value: Any) -> int:
    return value if isinstance(value, int) else int(value[0])


class Conv1D(Layer):
    """A window of weights moved along a sequence. `causal`: no output sees a later step."""

    bias: Any = None

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        groups: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        del data_format
        super().__init__(**kwargs)
        self.filters, self.groups, self.use_bias = filters, groups, use_bias
        self.kernel_size, self.strides = (_single(kernel_size),), (_single(strides),)
        self.dilation_rate = (_single(dilation_rate),)
        self.causal = padding == "causal"
        self.padding = "VALID" if self.causal else checked_padding(padding)
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.input_spec = InputSpec(min_ndim=3)

    def build(self, input_shape: Any) -> None:
        channels = input_shape[-1]
        self.input_spec = InputSpec(min_ndim=3, axes={-1: channels})
        shape = (*self.kernel_size, channels // self.groups, self.filters)
        self.kernel = self.add_weight("kernel", shape, initializer=self.kernel_initializer)
        if self.use_bias:
            self.bias = self.add_weight("bias", (self.filters,), initializer=self.bias_initializer)

    def call(self, inputs: Any) -> Any:
        if self.causal:
            before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            inputs = tf.pad(inputs, [[0, 0], [before, 0], [0, 0]])
        outputs = tf.nn.convolution(
            inputs, self.kernel, strides=list(self.strides), padding=self.padding,
            dilations=list(self.dilation_rate), data_format="NWC", name="Conv1D",
        )  # fmt: skip
        if self.bias is not None:
            outputs = tf.nn.bias_add(outputs, self.bias, data_format="NWC")
        return self.activation(outputs)


class Conv2DTranspose(Conv2D):
    """The gradient of a convolution, taken as a layer: makes images larger."""

    def build(self, input_shape: Any) -> None:
        shape = (*self.kernel_size, self.filters, self._channels(input_shape))
        self.kernel = self.add_weight("kernel", shape, initializer=self.kernel_initializer)
        if self.use_bias:
            self.bias = self.add_weight("bias", (self.filters,), initializer=self.bias_initializer)

    def call(self, inputs: Any) -> Any:
        dynamic = tf.shape(inputs)
        sizes = [
            self._size(known if known is not None else dynamic[axis], axis - 1)
            for axis, known in enumerate(inputs.shape.as_list()[1:3], start=1)
        ]
        shape = tf.stack([dynamic[0], *sizes, self.filters])
        _ = shape[0]  # NB: Keras looks whether it is None
        outputs = tf.nn.conv2d_transpose(
            inputs, self.kernel, shape,
            strides=list(self.strides), padding=self.padding,
        )  # fmt: skip
        return self._finish(outputs)

    def _size(self, size: Any, dimension: int) -> Any:
        stride = self.strides[dimension]
        if self.padding == "SAME":
            return size * stride
        return size * stride + max(self.kernel_size[dimension] - stride, 0)


class SeparableConv2D(Conv2D):
    """A window of its own for each channel, then a mixture of channels."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate,
            activation=activation, use_bias=use_bias, bias_initializer=bias_initializer, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.pointwise_initializer = initializers.get(pointwise_initializer)

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            (*self.kernel_size, channels, self.depth_multiplier),
            initializer=self.depthwise_initializer,
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            (1, 1, channels * self.depth_multiplier, self.filters),
            initializer=self.pointwise_initializer,
        )
        if self.use_bias:
            self.bias = self.add_weight("bias", (self.filters,), initializer=self.bias_initializer)

    def call(self, inputs: Any) -> Any:
        outputs = tf.nn.separable_conv2d(
            inputs, self.depthwise_kernel, self.pointwise_kernel, strides=(1, *self.strides, 1),
            padding=self.padding, dilations=self.dilation_rate, data_format="NHWC",
        )  # fmt: skip
        return self._finish(outputs)
