"""Convolutions.

Told about: `keras/src/layers/convolutional/`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras3 import activations, initializers, ops
from tflogscope.runtime.keras3.layers.base import Layer

__all__ = ["Conv1D", "Conv2D", "DepthwiseConv2D", "as_tuple"]


class _Convolution(Layer):
    """What they share: window, bias, activation."""

    rank = 2

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        bias_initializer: Any = "zeros",
        bias_regularizer: Any = None,
        bias_constraint: Any = None,
        groups: int = 1,
        **kwargs: Any,
    ) -> None:
        """Raises NotInThisRuntime for groups and channels first."""
        super().__init__(**kwargs)
        if groups != 1 or data_format == "channels_first":
            raise NotInThisRuntime(f"Keras 3's {type(self).__name__} with groups or channels first")
        self.kernel_size = as_tuple(kernel_size, self.rank)
        self.strides = as_tuple(strides, self.rank)
        self.dilation_rate = as_tuple(dilation_rate, self.rank)
        self.padding, self.use_bias = padding.lower(), use_bias
        self.activation = activations.get(activation)
        self.bias_initializer = initializers.get(bias_initializer)
        self._of_bias = {"regularizer": bias_regularizer, "constraint": bias_constraint}
        self.input_spec = InputSpec(min_ndim=self.rank + 2)

    def _make(self, shape: Any, channels: int, width: int, initializer: Any, options: Any) -> None:
        self._expect(channels)
        self.kernel = self.add_weight(shape, initializer, name="kernel", **options)
        self._make_bias(width)

    def _expect(self, channels: int) -> None:
        self.input_spec = InputSpec(min_ndim=self.rank + 2, axes={-1: channels})

    def _check_window(self, shape: Any, width: int) -> None:
        """Before the weights are made. Raises ValueError if the window does not fit into the image:
        `compute_conv_output_shape` of `keras/src/ops/operation_utils.py`.
        """
        kernel = (*self.kernel_size, shape[-1], width)
        if len(kernel) != len(shape):
            raise ValueError(
                "Kernel shape must have the same length as input, but received kernel of shape "
                f"{kernel} and input of shape {shape}."
            )
        if self.padding != "valid":
            return
        sizes = zip(shape[1:-1], self.kernel_size, self.dilation_rate, strict=True)
        if any(size is not None and size <= rate * (wide - 1) for size, wide, rate in sizes):
            raise ValueError(
                f"Computed output size would be zero or negative. Received `inputs shape={shape}`, "
                f"`kernel shape={kernel}`, `dilation_rate={np.array(self.dilation_rate)}`, "
                f"`strides={self.strides}`, `padding={self.padding}`."
            )

    def _make_bias(self, width: int) -> None:
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                (width,), self.bias_initializer, name="bias", **self._of_bias
            )

    def _finished(self, outputs: Any) -> Any:
        if self.bias is not None:
            shape = (1,) * (self.rank + 1) + tuple(self.bias.shape)
            outputs = ops.add(outputs, ops.reshape(self.bias, shape))
        return self.activation(outputs)

    def _window(self) -> dict[str, Any]:
        return {
            "strides": self.strides, "padding": self.padding, "dilation_rate": self.dilation_rate,
        }  # fmt: skip


class Conv2D(_Convolution):
    """A convolution over images."""

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
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            bias_initializer, bias_regularizer, bias_constraint, groups,
            activity_regularizer=activity_regularizer, **kwargs,
        )  # fmt: skip
        self.filters = filters
        self.kernel_initializer = initializers.get(kernel_initializer)
        self._of_kernel = {"regularizer": kernel_regularizer, "constraint": kernel_constraint}

    def build(self, input_shape: Any) -> None:
        channels = input_shape[-1]
        self._check_window(input_shape, self.filters)
        shape = (*self.kernel_size, channels, self.filters)
        self._make(shape, channels, self.filters, self.kernel_initializer, self._of_kernel)

    def call(self, inputs: Any) -> Any:
        return self._finished(ops.conv(inputs, self.kernel, **self._window()))


class Conv1D(Conv2D):
    """A convolution over sequences; a causal one does not look ahead: zeros stand before it."""

    rank = 1

    def call(self, inputs: Any) -> Any:
        window = self._window()
        if self.padding == "causal":
            before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            inputs = ops.pad(inputs, [[0, 0], [before, 0], [0, 0]])
            window["padding"] = "valid"
        return self._finished(ops.conv(inputs, self.kernel, **window))


class DepthwiseConv2D(_Convolution):
    """A convolution of each channel by itself."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            bias_initializer, bias_regularizer, bias_constraint,
            activity_regularizer=activity_regularizer, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self._of_kernel = {
            "regularizer": depthwise_regularizer, "constraint": depthwise_constraint,
        }  # fmt: skip

    def build(self, input_shape: Any) -> None:
        channels = input_shape[-1]
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        width = channels * self.depth_multiplier
        self._check_window(input_shape, width)
        self._make(shape, channels, width, self.depthwise_initializer, self._of_kernel)

    def call(self, inputs: Any) -> Any:
        return self._finished(ops.depthwise_conv(inputs, self.kernel, **self._window()))


def as_tuple(value: Any, length: int) -> tuple[int, ...]:
    """A number for each dimension."""
    return (value,) * length if isinstance(value, int) else tuple(value)
