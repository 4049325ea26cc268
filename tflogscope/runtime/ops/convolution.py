"""Convolution: Conv2D and DepthwiseConv2dNative with the ops of their gradients.

A convolution is a product of matrices: its windows, each laid flat, times the filter laid flat.

Told about: `core/ops/nn_ops.cc`, `core/kernels/conv_ops.cc`, `core/kernels/conv_grad_*_ops.cc`,
`python/ops/nn_grad.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import constant_shape
from tflogscope.runtime.errors import AbortedError, InvalidArgumentError, UnimplementedError
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.library import arrays
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.ops.windows import (
    Geometry,
    channels_last,
    geometry,
    original_layout,
    output_size,
    paddings_of,
    spatial,
    spread,
    windows,
)
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import TensorShape

Array = NDArray[Any]
_CONV = (
    "strides, use_cudnn_on_gpu=True, padding, explicit_paddings=[], data_format='NHWC', "
    "dilations=[1, 1, 1, 1], padding in 'SAME' 'VALID' 'EXPLICIT'"
)
_DEPTHWISE = (
    "strides, padding, explicit_paddings=[], data_format='NHWC', dilations=[1, 1, 1, 1], "
    "padding in 'SAME' 'VALID' 'EXPLICIT'"
)
_NAMES = ("strides", "padding", "explicit_paddings", "data_format", "dilations")


def _output_shape(i: Inference, channels: int | None) -> TensorShape:
    """The shape of a convolution with so many output channels."""
    image, filter_, a = i.shape_of_rank(0, 4), i.shape_of_rank(1, 4), i.attributes
    last = a["data_format"] == "NHWC"
    where = (1, 2) if last else (2, 3)
    strides, gaps = (
        spatial(a["strides"], a["data_format"]),
        spatial(a["dilations"], a["data_format"]),
    )
    pads = paddings_of(a["padding"], a["explicit_paddings"], a["data_format"])
    dims = [
        output_size(image[where[k]], filter_[k], strides[k], gaps[k], pads[k])[0] for k in (0, 1)
    ]
    return TensorShape([image[0], *dims, channels] if last else [image[0], channels, *dims])


def _depth(i: Inference) -> tuple[int | None, int | None]:
    image, filter_ = i.shape_of_rank(0, 4), i.shape_of_rank(1, 4)
    return image[-1] if i.attributes["data_format"] == "NHWC" else image[1], filter_[2]


def _conv_shape(i: Inference) -> TensorShape:
    depth, of_filter = _depth(i)
    if depth is not None and of_filter is not None and depth % of_filter:
        raise ValueError(
            f"Depth of input ({depth}) is not a multiple of input depth of filter ({of_filter})"
        )
    return _output_shape(i, i.shape_of_rank(1, 4)[3])


def _layout(
    image: tuple[int, ...], filter_: tuple[int, ...], attributes: Mapping[str, Any]
) -> Geometry:
    """The geometry for an image in batch, height, width, channels."""
    given = {name: attributes[name] for name in _NAMES}
    try:
        return geometry(image[1:3], filter_[:2], **given)
    except ValueError as error:
        raise InvalidArgumentError(None, None, str(error)) from None


def _shape_of_image(sizes: Array, data_format: str) -> tuple[int, ...]:
    batch, *dims = (int(dim) for dim in sizes)
    return (batch, *dims) if data_format == "NHWC" else (batch, dims[1], dims[2], dims[0])


def _image_shape(i: Inference) -> TensorShape:
    shape = constant_shape(i.inputs[0])
    return shape if shape.rank is not None else TensorShape([None] * 4)


def _image_shape_of_batch(i: Inference) -> TensorShape:
    """The number of images is that of the gradients, whatever the sizes say.

    Told about: `Conv2DBackpropInputShape` of `core/framework/common_shape_fns.cc`.
    """
    shape, batch = constant_shape(i.inputs[0]), i.shape_of_rank(2, 4)[0]
    if shape.rank == 2:  # only height and width were given
        depth, dims = i.shape_of_rank(1, 4)[2], shape.as_list()
        last = i.attributes["data_format"] == "NHWC"
        return TensorShape([batch, *dims, depth] if last else [batch, depth, *dims])
    if shape.rank not in (None, 4):
        raise ValueError(
            "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, but got: "
            f"{shape.rank}"
        )
    sizes = [None] * 4 if shape.rank is None else shape.as_list()
    if None not in (sizes[0], batch) and sizes[0] != batch:
        raise ValueError(f"Dimensions must be equal, but are {sizes[0]} and {batch}")
    return TensorShape([batch, *sizes[1:]])


# -- Conv2D: with fewer channels in the filter than in the image it is done in groups


@op(
    f"Conv2D(input: T, filter: T; {_CONV}, T in float16 bfloat16 float32 float64 int32) -> "
    "output: T",
    shape=_conv_shape,
)
def _conv2d(input: Array, filter: Array, **attributes: Any) -> Array:
    x = channels_last(input, attributes["data_format"])
    if x.shape[3] % filter.shape[2]:
        text = (
            f"input depth must be evenly divisible by filter depth: {x.shape[3]} vs "
            f"{filter.shape[2]}"
        )
        raise InvalidArgumentError(None, None, text)
    groups = x.shape[3] // filter.shape[2]
    if filter.shape[3] % groups:
        text = (
            "output depth must be evenly divisible by number of groups: "
            f"{filter.shape[3]} vs {groups}"
        )
        raise InvalidArgumentError(None, None, text)
    channel = 3 if attributes["data_format"] == "NHWC" else 1
    if attributes["strides"][0] != 1 or attributes["strides"][channel] != 1:
        text = (
            "Current implementation does not yet support strides in the batch and depth dimensions."
        )
        raise UnimplementedError(None, None, text)
    g = _layout(x.shape, filter.shape, attributes)
    parts = [
        _flat(windows(part, g)) @ weights.reshape(-1, weights.shape[3])
        for part, weights in zip(np.split(x, groups, 3), np.split(filter, groups, 3), strict=True)
    ]
    joined = np.concatenate(parts, -1).reshape(x.shape[0], *g.output, filter.shape[3])
    return original_layout(joined, attributes["data_format"])


def _flat(parts: Array) -> Array:
    """Each window as a row."""
    return parts.reshape(parts.shape[0] * parts.shape[1] * parts.shape[2], -1)


@op(f"Conv2DBackpropInput(input_sizes: int32, filter: T, out_backprop: T; {_CONV}) -> output: T",
    shape=_image_shape_of_batch)  # fmt: skip
def _conv2d_backprop_input(
    input_sizes: Array, filter: Array, out_backprop: Array, **attributes: Any
) -> Array:
    shape = _full_sizes(input_sizes, filter, out_backprop, attributes["data_format"])
    dy = channels_last(out_backprop, attributes["data_format"])
    if shape[3] % filter.shape[2]:
        text = (
            f"input depth must be evenly divisible by filter depth: {shape[3]} vs {filter.shape[2]}"
        )
        raise InvalidArgumentError(None, None, text)
    g = _layout(shape, filter.shape, attributes)
    if dy.shape != (shape[0], *g.output, filter.shape[3]):
        raise AbortedError(None, None, _NO_PRIMITIVE)
    groups = shape[3] // filter.shape[2]
    parts = []
    for part, weights in zip(np.split(dy, groups, 3), np.split(filter, groups, 3), strict=True):
        flat = part.reshape(-1, part.shape[3]) @ weights.reshape(-1, weights.shape[3]).T
        each = flat.reshape(shape[0], *g.output, *g.size, filter.shape[2])
        parts.append(spread(each, shape[1:3], g))
    return original_layout(np.concatenate(parts, -1), attributes["data_format"])


_NO_PRIMITIVE = (
    "Operation received an exception:Status: 2, message: could not create a descriptor for a "
    "dilated convolution backward propagation primitive, in file "
    "tensorflow/core/kernels/mkl/mkl_conv_grad_input_ops.cc:540"
)
"""What becomes of shapes that don't belong together. NB: without oneDNN it is another text."""


def _full_sizes(sizes: Array, filter_: Array, dy: Array, data_format: str) -> tuple[int, ...]:
    if len(sizes) == 4:
        return _shape_of_image(sizes, data_format)
    return (dy.shape[0], int(sizes[0]), int(sizes[1]), filter_.shape[2])


@op(f"Conv2DBackpropFilter(input: T, filter_sizes: int32, out_backprop: T; {_CONV}) -> output: T",
    shape=lambda i: constant_shape(i.inputs[1]).with_rank(4))  # fmt: skip
def _conv2d_backprop_filter(
    input: Array, filter_sizes: Array, out_backprop: Array, **attributes: Any
) -> Array:
    x, dy = (channels_last(each, attributes["data_format"]) for each in (input, out_backprop))
    sizes = tuple(int(size) for size in filter_sizes)
    g = _layout(x.shape, sizes, attributes)
    groups = x.shape[3] // sizes[2]
    parts = [
        (_flat(windows(part, g)).T @ of_part.reshape(-1, of_part.shape[3])).reshape(*sizes[:3], -1)
        for part, of_part in zip(np.split(x, groups, 3), np.split(dy, groups, 3), strict=True)
    ]
    return np.concatenate(parts, -1)


def _attributes(record: OpRecord, *, cudnn: bool = True) -> dict[str, Any]:
    names = (*_NAMES, "use_cudnn_on_gpu") if cudnn else _NAMES
    return {name: record.get_attr(name) for name in names}


@gradient("Conv2D")
def _conv2d_gradient(record: OpRecord, grad: Any) -> list[Any]:
    x, weights = record.inputs
    x_shape, filter_shape = arrays.shape_n([x, weights])
    attributes = _attributes(record)
    return [
        call("Conv2DBackpropInput", x_shape, weights, grad, **attributes),
        call("Conv2DBackpropFilter", x, filter_shape, grad, **attributes),
    ]


@gradient("Conv2DBackpropInput")
def _conv2d_backprop_input_gradient(record: OpRecord, grad: Any) -> list[Any]:
    _, weights, dy = record.inputs
    attributes = _attributes(record)
    shape = arrays.shape(weights)
    of_filter = call("Conv2DBackpropFilter", grad, shape, dy, **attributes)
    return [None, of_filter, call("Conv2D", grad, weights, **attributes)]


@gradient("Conv2DBackpropFilter")
def _conv2d_backprop_filter_gradient(record: OpRecord, grad: Any) -> list[Any]:
    x, _, dy = record.inputs
    attributes = _attributes(record)
    of_input = call("Conv2DBackpropInput", arrays.shape(x), grad, dy, **attributes)
    return [of_input, None, call("Conv2D", x, grad, **attributes)]


# -- DepthwiseConv2dNative: each channel has filters of its own


def _depthwise_shape(i: Inference) -> TensorShape:
    depth, of_filter = _depth(i)
    if depth is not None and of_filter is not None and depth != of_filter:
        raise ValueError(f"Dimensions must be equal, but are {depth} and {of_filter}")
    multiplier = i.shape_of_rank(1, 4)[3]
    return _output_shape(i, None if depth is None or multiplier is None else depth * multiplier)


@op(
    f"DepthwiseConv2dNative(input: T, filter: T; {_DEPTHWISE}, T in float) -> output: T",
    shape=_depthwise_shape,
)
def _depthwise(input: Array, filter: Array, **attributes: Any) -> Array:
    x = channels_last(input, attributes["data_format"])
    if x.shape[3] != filter.shape[2]:
        text = (
            f"input depth must be evenly divisible by filter depth: {x.shape[3]} vs "
            f"{filter.shape[2]}"
        )
        raise InvalidArgumentError(None, None, text)
    g = _layout(x.shape, filter.shape, attributes)
    y = np.einsum("nhwijc,ijcm->nhwcm", windows(x, g), filter, optimize=True)
    flat = y.reshape(*y.shape[:3], -1).astype(input.dtype, copy=False)
    return original_layout(flat, attributes["data_format"])


@op(
    "DepthwiseConv2dNativeBackpropInput(input_sizes: int32, filter: T, out_backprop: T; "
    f"{_DEPTHWISE}) -> output: T",
    shape=_image_shape,
)
def _depthwise_backprop_input(
    input_sizes: Array, filter: Array, out_backprop: Array, **attributes: Any
) -> Array:
    shape = _shape_of_image(input_sizes, attributes["data_format"])
    dy = channels_last(out_backprop, attributes["data_format"])
    g = _layout(shape, filter.shape, attributes)
    split = dy.reshape(*dy.shape[:3], *filter.shape[2:])
    parts = np.einsum("nhwcm,ijcm->nhwijc", split, filter, optimize=True).astype(
        filter.dtype, copy=False
    )
    return original_layout(spread(parts, shape[1:3], g), attributes["data_format"])


@op(
    "DepthwiseConv2dNativeBackpropFilter(input: T, filter_sizes: int32, out_backprop: T; "
    f"{_DEPTHWISE}) -> output: T",
    shape=lambda i: constant_shape(i.inputs[1]).with_rank(4),
)
def _depthwise_backprop_filter(
    input: Array, filter_sizes: Array, out_backprop: Array, **attributes: Any
) -> Array:
    x, dy = (channels_last(each, attributes["data_format"]) for each in (input, out_backprop))
    sizes = tuple(int(size) for size in filter_sizes)
    g = _layout(x.shape, sizes, attributes)
    split = dy.reshape(*dy.shape[:3], *sizes[2:])
    result: Array = np.einsum("nhwijc,nhwcm->ijcm", windows(x, g), split, optimize=True)
    return result.astype(input.dtype, copy=False)


@gradient("DepthwiseConv2dNative")
def _depthwise_gradient(record: OpRecord, grad: Any) -> list[Any]:
    x, weights = record.inputs
    attributes = _attributes(record, cudnn=False)
    of_input = call(
        "DepthwiseConv2dNativeBackpropInput", arrays.shape(x), weights, grad, **attributes
    )
    of_filter = call(
        "DepthwiseConv2dNativeBackpropFilter", x, arrays.shape(weights), grad, **attributes
    )
    return [of_input, of_filter]
