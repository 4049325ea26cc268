"""Convolutions of other kinds than `conv`.

Told about: `keras/src/backend/tensorflow/nn.py`, `compute_conv_transpose_output_shape` of
`keras/src/backend/common/backend_utils.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras3.operation import operation
from tflogscope.runtime.keras3.ops.core import convert_to_tensor
from tflogscope.runtime.keras3.ops.nn import window_format

__all__ = ["conv_transpose", "depthwise_conv", "separable_conv"]


def _per_dimension(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


@operation
def depthwise_conv(
    inputs: Any, kernel: Any, strides: Any = 1, padding: str = "valid",
    data_format: str | None = None, dilation_rate: Any = 1,
) -> Any:  # fmt: skip
    """A convolution of each channel by itself; that of a sequence as one of a flat image."""
    inputs, kernel = convert_to_tensor(inputs), convert_to_tensor(kernel)
    rank = len(inputs.shape) - 2
    window_format(data_format, rank + 2)
    strides, dilations = _per_dimension(strides, rank), _per_dimension(dilation_rate, rank)
    if rank == 1:
        inputs, kernel = tf.expand_dims(inputs, 1), tf.expand_dims(kernel, axis=0)
        strides, dilations = strides * 2, (1, *dilations)
    outputs = tf.nn.depthwise_conv2d(
        inputs, kernel, (1, *strides, 1), padding.upper(), data_format="NHWC", dilations=dilations
    )
    return tf.squeeze(outputs, [1]) if rank == 1 else outputs


@operation
def separable_conv(
    inputs: Any, depthwise_kernel: Any, pointwise_kernel: Any, strides: Any = 1,
    padding: str = "valid", data_format: str | None = None, dilation_rate: Any = 1,
) -> Any:  # fmt: skip
    """A convolution of each channel by itself, then one that mixes the channels."""
    inputs = convert_to_tensor(inputs)
    depthwise, pointwise = convert_to_tensor(depthwise_kernel), convert_to_tensor(pointwise_kernel)
    rank = len(inputs.shape) - 2
    window_format(data_format, rank + 2)
    strides, dilations = _per_dimension(strides, rank), _per_dimension(dilation_rate, rank)
    if rank == 1:
        inputs = tf.expand_dims(inputs, 1)
        depthwise, pointwise = tf.expand_dims(depthwise, axis=0), tf.expand_dims(pointwise, axis=0)
        strides, dilations = strides * 2, (1, *dilations)
    outputs = tf.nn.separable_conv2d(
        inputs, depthwise, pointwise, (1, *strides, 1), padding.upper(), data_format="NHWC",
        dilations=dilations,
    )  # fmt: skip
    return tf.squeeze(outputs, [1]) if rank == 1 else outputs


@operation
def conv_transpose(
    inputs: Any, kernel: Any, strides: Any = 1, padding: str = "valid", output_padding: Any = None,
    data_format: str | None = None, dilation_rate: Any = 1,
) -> Any:  # fmt: skip
    """The gradient of a convolution as an operation. Raises NotInThisRuntime for dilations."""
    inputs, kernel = convert_to_tensor(inputs), convert_to_tensor(kernel)
    rank = len(inputs.shape) - 2
    form = window_format(data_format, rank + 2)
    strides = _per_dimension(strides, rank)
    if set(_per_dimension(dilation_rate, rank)) != {1}:
        raise NotInThisRuntime("Keras 3's conv_transpose with dilations")
    extra = [None] * rank if output_padding is None else _per_dimension(output_padding, rank)
    dims: list[Any] = inputs.shape.as_list()
    dynamic: Any = tf.shape(inputs)
    dims = [dynamic[i] if each is None else each for i, each in enumerate(dims)]
    sizes = [
        _size_before(*each, padding=padding)
        for each in zip(dims[1:-1], kernel.shape[:-2].as_list(), strides, extra, strict=True)
    ]
    shape = [dims[0], *sizes, kernel.shape[-2]]
    if rank == 2 and tf.executing_eagerly():  # NB: its wrapper converts inputs of one dtype first
        kernel = tf.convert_to_tensor(kernel)
    transpose = tf.nn.conv1d_transpose if rank == 1 else tf.nn.conv2d_transpose
    with tf.name_scope("conv_transpose") as name:
        return transpose(
            inputs, kernel, shape, strides, padding=padding.upper(), data_format=form, name=name
        )


def _size_before(size: Any, kernel: int, stride: int, extra: int | None, *, padding: str) -> Any:
    """How large an image was of which a convolution leaves so much."""
    if padding == "valid":
        return (size - 1) * stride + kernel + (max(0, stride - kernel) if extra is None else extra)
    return size * stride if extra is None else (size - 1) * stride + kernel % 2 + extra
