"""Pooling: MaxPool, AvgPool and the ops of their gradients; images taken apart: SpaceToDepth,
DepthToSpace.

Told about: `core/kernels/maxpooling_op.cc`, `core/kernels/avgpooling_op.cc`,
`python/ops/nn_grad.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import constant_shape
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import InvalidArgumentError
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
_MAX = (
    "ksize, strides, padding, explicit_paddings=[], data_format='NHWC', padding in 'SAME' 'VALID' "
    "'EXPLICIT'"
)
_AVG = "ksize, strides, padding, data_format='NHWC', padding in 'SAME' 'VALID'"


def _pool_shape(i: Inference) -> TensorShape:
    a, image = i.attributes, i.shape_of_rank(0, 4)
    data_format = a.get("data_format", "NHWC")
    where = (1, 2) if data_format == "NHWC" else (2, 3)
    size, strides = spatial(a["ksize"], data_format), spatial(a["strides"], data_format)
    pads = paddings_of(a["padding"], a.get("explicit_paddings", ()), data_format)
    dims = image.as_list()
    for k in (0, 1):
        dims[where[k]] = output_size(dims[where[k]], size[k], strides[k], 1, pads[k])[0]
    return TensorShape(dims)


def _layout(image: tuple[int, ...], a: Mapping[str, Any]) -> Geometry:
    data_format = a.get("data_format", "NHWC")
    size = spatial(a["ksize"], data_format)
    for place, window in enumerate(a["ksize"]):
        if window <= 0:
            text = f"Sliding window ksize for dimension {place} was zero."
            raise InvalidArgumentError(None, None, text)
    explicit = a.get("explicit_paddings", ())
    try:
        return geometry(image[1:3], size, a["strides"], a["padding"], data_format, explicit)
    except ValueError as error:
        raise InvalidArgumentError(None, None, str(error)) from None


def _flat(parts: Array) -> Array:
    """The elements of each window along one dimension, before the channels."""
    return parts.reshape(*parts.shape[:3], -1, parts.shape[-1])


# -- the largest


@op(f"MaxPool(input: T; T=float32, {_MAX}, T in real) -> output: T", shape=_pool_shape)
def _max_pool(input: Array, **attributes: Any) -> Array:
    x = channels_last(input, attributes["data_format"])
    g = _layout(x.shape, attributes)
    return original_layout(
        np.max(windows(x, g, _lowest(x)), axis=(3, 4)), attributes["data_format"]
    )


def _lowest(x: Array) -> Any:
    return -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min


def _chosen(x: Array, g: Geometry) -> Array:
    """For each window and place in it: is it the one (the first of several) that is largest?"""
    flat = _flat(windows(x, g, _lowest(x)))
    return np.asarray(
        np.arange(flat.shape[3])[:, None] == np.argmax(flat, axis=3)[:, :, :, None, :]
    )


def _shaped(flat: Array, g: Geometry) -> Array:
    return flat.reshape(*flat.shape[:3], *g.size, flat.shape[-1])


@op(
    f"MaxPoolGrad(orig_input: T, orig_output: T, grad: T; {_MAX}, T=float32, T in real) -> output: "
    "T"
)
def _max_pool_grad(orig_input: Array, orig_output: Array, grad: Array, **attributes: Any) -> Array:  # noqa: ARG001
    x, dy = (channels_last(each, attributes["data_format"]) for each in (orig_input, grad))
    g = _layout(x.shape, attributes)
    parts = _shaped(_chosen(x, g) * dy[:, :, :, None, :], g)
    return original_layout(
        spread(parts.astype(grad.dtype, copy=False), x.shape[1:3], g), attributes["data_format"]
    )


@op(
    f"MaxPoolGradGrad(orig_input: T, orig_output: T, grad: T; {_AVG}, T in real) -> output: T",
    shape=lambda i: i.shape(1),
)
def _max_pool_grad_grad(
    orig_input: Array, orig_output: Array, grad: Array, **attributes: Any
) -> Array:
    del orig_output  # its places are found again
    x, dy = (channels_last(each, attributes["data_format"]) for each in (orig_input, grad))
    g = _layout(x.shape, attributes)
    found = np.sum(_flat(windows(dy, g)) * _chosen(x, g), axis=3).astype(grad.dtype, copy=False)
    return original_layout(found, attributes["data_format"])


def _attributes(record: OpRecord, *names: str) -> dict[str, Any]:
    return {name: record.get_attr(name) for name in names}


@gradient("MaxPool")
def _max_pool_gradient(record: OpRecord, grad: Any) -> list[Any]:
    attributes = _attributes(
        record, "ksize", "strides", "padding", "explicit_paddings", "data_format"
    )
    return [call("MaxPoolGrad", record.inputs[0], record.outputs[0], grad, **attributes)]


@gradient("MaxPoolGrad")
def _max_pool_grad_gradient(record: OpRecord, grad: Any) -> list[Any]:
    x, y, _ = record.inputs
    attributes = _attributes(record, "ksize", "strides", "padding", "data_format")
    zeros = arrays.zeros_like(x), arrays.zeros_like(y)
    return [*zeros, call("MaxPoolGradGrad", x, y, grad, **attributes)]


@op(
    "MaxPoolWithArgmax(input: T; ksize, strides, Targmax=int64, padding, "
    "include_batch_in_index=False, T in real) -> output: T, argmax: Targmax",
    shape=lambda i: [_pool_shape(i)] * 2,
)
def _max_pool_with_argmax(input: Array, Targmax: DType, **attributes: Any) -> tuple[Array, Array]:
    """Where the largest is: as an index into the flat image."""
    g = _layout(input.shape, attributes)
    flat = _flat(windows(input, g, _lowest(input)))
    inside = np.argmax(flat, axis=3)
    rows = (
        np.arange(g.output[0])[:, None, None] * g.strides[0] - g.padding[0][0] + inside // g.size[1]
    )
    columns = np.arange(g.output[1])[:, None] * g.strides[1] - g.padding[1][0] + inside % g.size[1]
    places = (rows * input.shape[2] + columns) * input.shape[3] + np.arange(input.shape[3])
    if attributes["include_batch_in_index"]:
        places = places + np.arange(input.shape[0])[:, None, None, None] * int(
            np.prod(input.shape[1:])
        )
    return np.max(flat, axis=3), places.astype(Targmax.as_numpy_dtype)


@op(
    "MaxPoolGradWithArgmax(input: T, grad: T, argmax: Targmax; ksize, strides, padding, "
    "include_batch_in_index=False) -> output: T"
)
def _max_pool_grad_with_argmax(
    input: Array, grad: Array, argmax: Array, include_batch_in_index: bool
) -> Array:
    result = np.zeros((input.shape[0], int(np.prod(input.shape[1:]))), grad.dtype)
    per_image = result.shape[1] if include_batch_in_index else 0
    for k in range(input.shape[0]):
        np.add.at(result[k], argmax[k].ravel() - k * per_image, grad[k].ravel())
    return result.reshape(input.shape)


@gradient("MaxPoolWithArgmax")
def _max_pool_with_argmax_gradient(record: OpRecord, grad: Any, _: Any) -> list[Any]:
    attributes = _attributes(record, "ksize", "strides", "padding", "include_batch_in_index")
    return [call("MaxPoolGradWithArgmax", record.inputs[0], grad, record.outputs[1], **attributes)]


# -- the mean


def _counts(image: tuple[int, ...], g: Geometry) -> Array:
    """How many elements of each window are in the image: padding does not count."""
    ones = np.ones((1, image[1], image[2], 1), np.float32)
    counts: Array = windows(ones, g).sum(axis=(3, 4))
    return counts


@op(f"AvgPool(value: T; {_AVG}, T in float) -> output: T", shape=_pool_shape)
def _avg_pool(value: Array, **attributes: Any) -> Array:
    x = channels_last(value, attributes["data_format"])
    g = _layout(x.shape, attributes)
    means = np.sum(windows(x, g), axis=(3, 4)) / _counts(x.shape, g)
    return original_layout(means.astype(value.dtype, copy=False), attributes["data_format"])


def _avg_grad_shape(i: Inference) -> TensorShape:
    return constant_shape(i.inputs[0])


@op(
    f"AvgPoolGrad(orig_input_shape: int32, grad: T; {_AVG}, T in float) -> output: T",
    shape=_avg_grad_shape,
)
def _avg_pool_grad(orig_input_shape: Array, grad: Array, **attributes: Any) -> Array:
    sizes = [int(size) for size in orig_input_shape]
    last = attributes["data_format"] == "NHWC"
    image = tuple(sizes) if last else (sizes[0], sizes[2], sizes[3], sizes[1])
    dy = channels_last(grad, attributes["data_format"])
    g = _layout(image, attributes)
    each = (dy / _counts(image, g)).astype(grad.dtype, copy=False)
    parts = np.broadcast_to(each[:, :, :, None, None, :], (*each.shape[:3], *g.size, each.shape[3]))
    return original_layout(spread(parts, image[1:3], g), attributes["data_format"])


@gradient("AvgPool")
def _avg_pool_gradient(record: OpRecord, grad: Any) -> list[Any]:
    attributes = _attributes(record, "ksize", "strides", "padding", "data_format")
    return [call("AvgPoolGrad", arrays.shape(record.inputs[0]), grad, **attributes)]


@gradient("AvgPoolGrad")
def _avg_pool_grad_gradient(record: OpRecord, grad: Any) -> list[Any]:
    attributes = _attributes(record, "ksize", "strides", "padding", "data_format")
    return [arrays.stop_gradient(record.inputs[0]), call("AvgPool", grad, **attributes)]


# -- blocks of the image to channels, and back


def _space_to_depth_shape(i: Inference) -> TensorShape:
    b = i.attributes["block_size"]
    n, h, w, c = i.shape_of_rank(0, 4).as_list()
    for dim in (h, w):
        if dim is not None and dim % b:
            text = f"Dimension size must be evenly divisible by {b} but is {dim}"
            raise ValueError(text)
    return TensorShape(
        [
            n,
            *(None if dim is None else dim // b for dim in (h, w)),
            None if c is None else c * b * b,
        ]
    )


@op(
    "SpaceToDepth(input: T; block_size, data_format='NHWC') -> output: T",
    shape=_space_to_depth_shape,
)
def _space_to_depth(input: Array, block_size: int) -> Array:
    n, h, w, c = input.shape
    b = block_size
    return (
        input.reshape(n, h // b, b, w // b, b, c)
        .transpose(0, 1, 3, 2, 4, 5)
        .reshape(n, h // b, w // b, b * b * c)
    )


def _depth_to_space_shape(i: Inference) -> TensorShape:
    b = i.attributes["block_size"]
    n, h, w, c = i.shape_of_rank(0, 4).as_list()
    if c is not None and c % (b * b):
        raise ValueError(f"Dimension size must be evenly divisible by {b * b} but is {c}")
    sizes = [None if dim is None else dim * b for dim in (h, w)]
    return TensorShape([n, *sizes, None if c is None else c // (b * b)])


@op(
    "DepthToSpace(input: T; block_size, data_format='NHWC') -> output: T",
    shape=_depth_to_space_shape,
)
def _depth_to_space(input: Array, block_size: int) -> Array:
    n, h, w, c = input.shape
    b = block_size
    depth = c // (b * b)
    return (
        input.reshape(n, h, w, b, b, depth)
        .transpose(0, 1, 3, 2, 4, 5)
        .reshape(n, h * b, w * b, depth)
    )


@gradient("SpaceToDepth")
def _space_to_depth_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [call("DepthToSpace", grad, **_attributes(record, "block_size", "data_format"))]


@gradient("DepthToSpace")
def _depth_to_space_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [call("SpaceToDepth", grad, **_attributes(record, "block_size", "data_format"))]
