"""Kinds of convolutions over sequences, done as images of one row.

Told about: `keras/src/layers/convolutional/depthwise_conv1d.py`, `separable_conv1d.py`,
`conv1d_transpose.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import initializers
from tflogscope.runtime.keras.layers.convolution_kinds import Conv1D

__all__ = ["Conv1DTranspose", "DepthwiseConv1D", "SeparableConv1D"]


class _AsImage(Conv1D):
    """What those with a window for each channel share."""

    depthwise_kernel: Any

    def _padded(self, inputs: Any) -> Any:
        if not self.causal:
            return inputs
        before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
        return tf.pad(inputs, [[0, 0], [before, 0], [0, 0]])

    def _geometry(self) -> dict[str, Any]:
        return {
            "strides": (1, *self.strides * 2, 1),
            "padding": self.padding,
            "dilations": (1, *self.dilation_rate),
            "data_format": "NHWC",
        }

    def _finish(self, outputs: Any) -> Any:
        if self.bias is not None:
            outputs = tf.nn.bias_add(outputs, self.bias, data_format="NHWC")
        return self.activation(tf.squeeze(outputs, [1]))


class DepthwiseConv1D(_AsImage):
    """A window of its own for each channel."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        depthwise_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(1, kernel_size, strides, padding, **kwargs)
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)

    def build(self, input_shape: Any) -> None:
        channels = input_shape[-1]
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel", shape, initializer=self.depthwise_initializer
        )
        if self.use_bias:
            size = (channels * self.depth_multiplier,)
            self.bias = self.add_weight("bias", size, initializer=self.bias_initializer)

    def call(self, inputs: Any) -> Any:
        image = tf.expand_dims(self._padded(inputs), 1)
        kernel = tf.expand_dims(self.depthwise_kernel, 0)
        return self._finish(tf.nn.depthwise_conv2d(image, kernel, **self._geometry()))


class SeparableConv1D(_AsImage):
    """A window of its own for each channel, then a mixture of channels."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(filters, kernel_size, strides, padding, **kwargs)
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.pointwise_initializer = initializers.get(pointwise_initializer)

    def build(self, input_shape: Any) -> None:
        channels = input_shape[-1]
        between = channels * self.depth_multiplier
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            (*self.kernel_size, channels, self.depth_multiplier),
            initializer=self.depthwise_initializer,
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel", (1, between, self.filters), initializer=self.pointwise_initializer
        )
        if self.use_bias:
            self.bias = self.add_weight("bias", (self.filters,), initializer=self.bias_initializer)

    def call(self, inputs: Any) -> Any:
        image = tf.expand_dims(self._padded(inputs), 1)
        depthwise = tf.expand_dims(self.depthwise_kernel, 0)
        pointwise = tf.expand_dims(self.pointwise_kernel, 0)
        return self._finish(tf.nn.separable_conv2d(image, depthwise, pointwise, **self._geometry()))


class Conv1DTranspose(Conv1D):
    """The gradient of a convolution, taken as a layer: makes sequences longer."""

    def build(self, input_shape: Any) -> None:
        shape = (*self.kernel_size, self.filters, input_shape[-1])
        self.kernel = self.add_weight("kernel", shape, initializer=self.kernel_initializer)
        if self.use_bias:
            self.bias = self.add_weight("bias", (self.filters,), initializer=self.bias_initializer)

    def call(self, inputs: Any) -> Any:
        dynamic = tf.shape(inputs)
        length = inputs.shape[1] if inputs.shape[1] is not None else dynamic[1]
        stride = self.strides[0]
        more = 0 if self.padding == "SAME" else max(self.kernel_size[0] - stride, 0)
        longer = length * stride + more
        shape = tf.stack([dynamic[0], longer, self.filters])
        outputs = tf.nn.conv1d_transpose(
            inputs, self.kernel, shape, strides=stride, padding=self.padding
        )
        if not tf.executing_eagerly():
            known = None if inputs.shape[1] is None else longer
            outputs.set_shape([inputs.shape[0], known, self.filters])
        if self.bias is not None:
            outputs = tf.nn.bias_add(outputs, self.bias, data_format="NWC")
        return self.activation(outputs)
