"""Convolution and pooling in three dimensions: Conv3D, MaxPool3D, AvgPool3D and the ops of their
gradients.

Told about: `core/ops/nn_ops.cc`, `core/kernels/conv_ops_3d.cc`, `core/kernels/pooling_ops_3d.cc`,
`python/ops/nn_grad.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import constant_shape
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.library import arrays
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.ops.windows import output_size
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import TensorShape

Array = NDArray[Any]
_CONV = (
    "strides, padding, data_format='NDHWC', dilations=[1, 1, 1, 1, 1], padding in 'SAME' 'VALID', "
    "T in neural"
)
_POOL = "ksize, strides, padding, data_format='NDHWC', padding in 'SAME' 'VALID', T in neural"


@dataclass(frozen=True)
class _Geometry:
    """How windows of `size` lie over a volume."""

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    output: tuple[int, ...]

    def places(self) -> list[tuple[tuple[int, ...], tuple[slice, ...]]]:
        """Each place in a window, with the part of the padded volume that is there."""
        found = []
        for place in product(*map(range, self.size)):
            part = []
            for at, gap, stride, count in zip(
                place, self.dilations, self.strides, self.output, strict=True
            ):
                first = at * gap
                part.append(slice(first, first + (count - 1) * stride + 1, stride))
            found.append((place, (slice(None), *part)))
        return found


def _spatial(values: Sequence[int], data_format: str) -> tuple[int, ...]:
    return tuple(values[1:4] if data_format == "NDHWC" else values[2:5])


def _layout(volume: Sequence[int], size: Sequence[int], a: Mapping[str, Any]) -> _Geometry:
    """The geometry of windows over a volume of (depth, height, width)."""
    strides = _spatial(a["strides"], a["data_format"])
    gaps = _spatial(a.get("dilations", (1,) * 5), a["data_format"])
    try:
        dims = [
            output_size(volume[k], size[k], strides[k], gaps[k], a["padding"]) for k in range(3)
        ]
    except ValueError as error:
        raise InvalidArgumentError(None, None, str(error)) from None
    padding = tuple((before, after) for _, before, after in dims)
    return _Geometry(tuple(size), strides, gaps, padding, tuple(each[0] or 0 for each in dims))


def _last(x: Array, data_format: str) -> Array:
    return x if data_format == "NDHWC" else np.moveaxis(x, 1, -1)


def _back(x: Array, data_format: str) -> Array:
    return np.ascontiguousarray(x if data_format == "NDHWC" else np.moveaxis(x, -1, 1))


def _padded(x: Array, g: _Geometry, fill: float = 0.0) -> Array:
    return np.pad(x, ((0, 0), *g.padding, (0, 0)), constant_values=fill)


def _cut(x: Array, volume: Sequence[int], g: _Geometry) -> Array:
    """Without the padding."""
    inner = (slice(b, b + size) for (b, _), size in zip(g.padding, volume, strict=True))
    return x[(slice(None), *inner)]


def _windowed_shape(i: Inference, size: Sequence[int | None], channels: Any) -> TensorShape:
    volume, a = i.shape_of_rank(0, 5).as_list(), i.attributes
    strides = _spatial(a["strides"], a["data_format"])
    gaps = _spatial(a.get("dilations", (1,) * 5), a["data_format"])
    inner = volume[1:4] if a["data_format"] == "NDHWC" else volume[2:5]
    dims = [output_size(inner[k], size[k], strides[k], gaps[k], a["padding"])[0] for k in range(3)]
    last = a["data_format"] == "NDHWC"
    return TensorShape([volume[0], *dims, channels] if last else [volume[0], channels, *dims])


# -- convolution


def _conv_shape(i: Inference) -> TensorShape:
    volume, filter_ = i.shape_of_rank(0, 5), i.shape_of_rank(1, 5).as_list()
    depth = volume[-1] if i.attributes["data_format"] == "NDHWC" else volume[1]
    if depth is not None and filter_[3] is not None and depth % filter_[3]:
        raise ValueError(
            f"Depth of input ({depth}) is not a multiple of input depth of filter ({filter_[3]})"
        )
    return _windowed_shape(i, filter_[:3], filter_[4])


@op(f"Conv3D(input: T, filter: T; {_CONV}) -> output: T", shape=_conv_shape)
def _conv3d(input: Array, filter: Array, **attributes: Any) -> Array:
    x = _last(input, attributes["data_format"])
    if x.shape[4] != filter.shape[3]:
        text = "Input depth must be evenly divisible by filter depth: {} vs {}"
        text = text.format(x.shape[4], filter.shape[3])
        raise InvalidArgumentError(None, None, text)
    g = _layout(x.shape[1:4], filter.shape[:3], attributes)
    padded = _padded(x, g)
    y = np.zeros((x.shape[0], *g.output, filter.shape[4]), input.dtype)
    for place, part in g.places():
        y += padded[part] @ filter[place]
    return _back(y, attributes["data_format"])


@op(
    "Conv3DBackpropInputV2(input_sizes: Tshape, filter: T, out_backprop: T; "
    f"{_CONV}, Tshape=int32) -> output: T",
    shape=lambda i: constant_shape(i.inputs[0]).with_rank(5),
)
def _conv3d_backprop_input(
    input_sizes: Array, filter: Array, out_backprop: Array, **attributes: Any
) -> Array:
    sizes = [int(size) for size in input_sizes]
    volume = _spatial(sizes, attributes["data_format"])
    dy = _last(out_backprop, attributes["data_format"])
    g = _layout(volume, filter.shape[:3], attributes)
    dims = [size + before + after for size, (before, after) in zip(volume, g.padding, strict=True)]
    padded = np.zeros((sizes[0], *dims, filter.shape[3]), filter.dtype)
    for place, part in g.places():
        padded[part] += dy @ filter[place].T
    return _back(_cut(padded, volume, g), attributes["data_format"])


@op(
    f"Conv3DBackpropFilterV2(input: T, filter_sizes: int32, out_backprop: T; {_CONV}) -> output: T",
    shape=lambda i: constant_shape(i.inputs[1]).with_rank(5),
)
def _conv3d_backprop_filter(
    input: Array, filter_sizes: Array, out_backprop: Array, **attributes: Any
) -> Array:
    x, dy = (_last(each, attributes["data_format"]) for each in (input, out_backprop))
    sizes = tuple(int(size) for size in filter_sizes)
    g = _layout(x.shape[1:4], sizes[:3], attributes)
    padded = _padded(x, g)
    result = np.zeros(sizes, input.dtype)
    rows = dy.reshape(-1, sizes[4])
    for place, part in g.places():
        result[place] = padded[part].reshape(-1, sizes[3]).T @ rows
    return result


def _attributes(record: OpRecord, *names: str) -> dict[str, Any]:
    return {name: record.get_attr(name) for name in (*names, "strides", "padding", "data_format")}


@gradient("Conv3D")
def _conv3d_gradient(record: OpRecord, grad: Any) -> list[Any]:
    x, weights = record.inputs
    x_shape, filter_shape = arrays.shape_n([x, weights])
    attributes = _attributes(record, "dilations")
    return [
        call("Conv3DBackpropInputV2", x_shape, weights, grad, **attributes),
        call("Conv3DBackpropFilterV2", x, filter_shape, grad, **attributes),
    ]


@gradient("Conv3DBackpropInputV2")
def _conv3d_backprop_input_gradient(record: OpRecord, grad: Any) -> list[Any]:
    _, weights, dy = record.inputs
    attributes = _attributes(record, "dilations")
    shape = arrays.shape(weights)
    return [
        None,
        call("Conv3DBackpropFilterV2", grad, shape, dy, **attributes),
        call("Conv3D", grad, weights, **attributes),
    ]


# -- pooling


def _pool_shape(i: Inference) -> TensorShape:
    volume, a = i.shape_of_rank(0, 5), i.attributes
    channels = volume[4] if a["data_format"] == "NDHWC" else volume[1]
    return _windowed_shape(i, _spatial(a["ksize"], a["data_format"]), channels)


def _pool_layout(x: Array, attributes: Mapping[str, Any]) -> _Geometry:
    size = _spatial(attributes["ksize"], attributes["data_format"])
    return _layout(x.shape[1:4], size, attributes)


@op(f"MaxPool3D(input: T; {_POOL}) -> output: T", shape=_pool_shape)
def _max_pool3d(input: Array, **attributes: Any) -> Array:
    x = _last(input, attributes["data_format"])
    g = _pool_layout(x, attributes)
    padded = _padded(x, g, -np.inf)
    largest = np.max([padded[part] for _, part in g.places()], axis=0)
    return _back(largest, attributes["data_format"])


@op(
    "MaxPool3DGrad(orig_input: TInput, orig_output: TInput, grad: T; ksize, strides, padding, "
    "data_format='NDHWC', T in neural, TInput=float32) -> output: T",
)
def _max_pool3d_grad(orig_input: Array, orig_output: Array, grad: Array, **a: Any) -> Array:
    """To the first of the largest in each window."""
    x, y, dy = (_last(each, a["data_format"]) for each in (orig_input, orig_output, grad))
    g = _pool_layout(x, a)
    padded = _padded(x, g, -np.inf)
    result, free = np.zeros_like(padded), np.ones(y.shape, bool)
    for _, part in g.places():
        chosen = free & (padded[part] == y)
        result[part] += np.where(chosen, dy, 0)
        free &= ~chosen
    return _back(_cut(result, x.shape[1:4], g), a["data_format"])


def _covered(volume: Sequence[int], g: _Geometry) -> Array:
    """How many cells of the volume each window has: padding does not count."""
    ones = _padded(np.ones((1, *volume, 1)), g)
    return np.sum([ones[part] for _, part in g.places()], axis=0)  # type: ignore[no-any-return]


@op(f"AvgPool3D(input: T; {_POOL}) -> output: T", shape=_pool_shape)
def _avg_pool3d(input: Array, **attributes: Any) -> Array:
    x = _last(input, attributes["data_format"])
    g = _pool_layout(x, attributes)
    padded = _padded(x, g)
    total = np.sum([padded[part] for _, part in g.places()], axis=0)
    mean = total / _covered(x.shape[1:4], g)
    return _back(mean.astype(input.dtype), attributes["data_format"])


@op(
    f"AvgPool3DGrad(orig_input_shape: int32, grad: T; {_POOL}) -> output: T",
    shape=lambda i: constant_shape(i.inputs[0]).with_rank(5),
)
def _avg_pool3d_grad(orig_input_shape: Array, grad: Array, **attributes: Any) -> Array:
    sizes = [int(size) for size in orig_input_shape]
    volume = _spatial(sizes, attributes["data_format"])
    dy = _last(grad, attributes["data_format"])
    g = _layout(volume, _spatial(attributes["ksize"], attributes["data_format"]), attributes)
    share = (dy / _covered(volume, g)).astype(grad.dtype)
    dims = [size + before + after for size, (before, after) in zip(volume, g.padding, strict=True)]
    result = np.zeros((sizes[0], *dims, dy.shape[4]), grad.dtype)
    for _, part in g.places():
        result[part] += share
    return _back(_cut(result, volume, g), attributes["data_format"])


@gradient("MaxPool3D")
def _max_pool3d_gradient(record: OpRecord, grad: Any) -> list[Any]:
    attributes = _attributes(record, "ksize")
    return [call("MaxPool3DGrad", record.inputs[0], record.outputs[0], grad, **attributes)]


@gradient("AvgPool3D")
def _avg_pool3d_gradient(record: OpRecord, grad: Any) -> list[Any]:
    attributes = _attributes(record, "ksize")
    return [call("AvgPool3DGrad", arrays.shape(record.inputs[0]), grad, **attributes)]
