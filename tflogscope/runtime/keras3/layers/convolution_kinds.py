"""Convolutions of other kinds: transposed, separable, of each channel of a sequence.

Told about: `keras/src/layers/convolutional/` (`base_conv_transpose.py`, `base_separable_conv.py`,
`depthwise_conv1d.py`).
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.keras3 import initializers, ops
from tflogscope.runtime.keras3.layers.convolution import Conv2D, DepthwiseConv2D, as_tuple

__all__ = [
    "Conv1DTranspose", "Conv2DTranspose", "DepthwiseConv1D", "SeparableConv1D", "SeparableConv2D",
]  # fmt: skip


class Conv2DTranspose(Conv2D):
    """The gradient of a convolution as a layer: it makes images larger. Raises ValueError for an
    output padding as wide as a stride.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, **kwargs
        )
        self.output_padding = None
        if output_padding is not None:
            self.output_padding = as_tuple(output_padding, self.rank)
            for index, pair in enumerate(zip(self.output_padding, self.strides, strict=True)):
                if pair[0] >= pair[1]:
                    raise ValueError(
                        "`output_padding` must be strictly less than `strides` for all dimensions. "
                        f"At dimension {index}, `output_padding` is {pair[0]} but `strides` is "
                        f"{pair[1]}. Received: output_padding={self.output_padding}, "
                        f"strides={self.strides}"
                    )

    def build(self, input_shape: Any) -> None:
        channels = input_shape[-1]
        shape = (*self.kernel_size, self.filters, channels)
        self._make(shape, channels, self.filters, self.kernel_initializer, self._of_kernel)

    def call(self, inputs: Any) -> Any:
        outputs = ops.conv_transpose(
            inputs, self.kernel, output_padding=self.output_padding, **self._window()
        )
        return self._finished(outputs)


class Conv1DTranspose(Conv2DTranspose):
    """The same for sequences."""

    rank = 1


class DepthwiseConv1D(DepthwiseConv2D):
    """A convolution of each channel of a sequence by itself."""

    rank = 1


class SeparableConv2D(Conv2D):
    """A convolution of each channel by itself, then one of single points that mixes them."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate,
            activation=activation, use_bias=use_bias, kernel_initializer=None,
            bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer, bias_constraint=bias_constraint, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.pointwise_initializer = initializers.get(pointwise_initializer)
        self._of_depthwise = {
            "regularizer": depthwise_regularizer, "constraint": depthwise_constraint,
        }  # fmt: skip
        self._of_pointwise = {
            "regularizer": pointwise_regularizer, "constraint": pointwise_constraint,
        }  # fmt: skip

    def build(self, input_shape: Any) -> None:
        channels, multiplier = input_shape[-1], self.depth_multiplier
        self._check_window(input_shape, self.filters)
        self._expect(channels)
        self.depthwise_kernel = self.add_weight(
            (*self.kernel_size, channels, multiplier), self.depthwise_initializer,
            name="depthwise_kernel", **self._of_depthwise,
        )  # fmt: skip
        self.pointwise_kernel = self.add_weight(
            (*(1,) * self.rank, multiplier * channels, self.filters), self.pointwise_initializer,
            name="pointwise_kernel", **self._of_pointwise,
        )  # fmt: skip
        self._make_bias(self.filters)

    def call(self, inputs: Any) -> Any:
        outputs = ops.separable_conv(
            inputs, self.depthwise_kernel, self.pointwise_kernel, **self._window()
        )
        return self._finished(outputs)


class SeparableConv1D(SeparableConv2D):
    """The same for sequences."""

    rank = 1
