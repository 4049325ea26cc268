"""Convolutions, pools, batch normalisation. See `core/framework/common_shape_fns.cc`,
`core/kernels/fused_batch_norm_op.cc`, `tensorflow/python/ops/nn_grad.py`.

NB: the channels are last, but for batch normalisation; padding is SAME or VALID, and windows have no
gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.known import known_shape
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import UNKNOWN, Dim, TensorShape, known
from tflogscope.runtime.library import arrays
from tflogscope.runtime.ops.rules import invalid, same

# -- windows over an image


class _Windows(NamedTuple):
    """How windows of a filter or pool lie on an image: rows, then columns."""

    size: Sequence[int]
    strides: Sequence[int]
    padding: list[tuple[int, int]]
    output: list[int]


def _extent(whole: Dim, size: Dim, stride: int, padding: str) -> tuple[Dim, int, int]:
    """How many windows fit, and the padding before and after. Raises ValueError if none does."""
    if whole is None or size is None or not known(whole):
        return None, 0, 0
    if padding == "SAME":
        count = -(-whole // stride)
        total = max((count - 1) * stride + size - whole, 0)
        return count, total // 2, total - total // 2
    if size > whole > 0:
        raise ValueError(f"Negative dimension size caused by subtracting {size} from {whole}")
    return (whole - size) // stride + 1, 0, 0


def _extents(image: Any, size: Any, a: Any) -> list[tuple[Dim, int, int]]:
    """For rows and columns; `a` has the attributes."""
    if a["data_format"] != "NHWC" or str(a["padding"]) not in {"SAME", "VALID"}:
        raise NotInThisRuntime("A window with channels that are not last, or with explicit padding")
    if any(each != 1 for each in a.get("dilations", ())):
        raise NotInThisRuntime("A dilated convolution")
    rows = zip(image, size, a["strides"][1:3], strict=False)
    return [_extent(*each, a["padding"]) for each in rows]


def _windows_of(image: Sequence[int], size: Sequence[int], a: Any) -> _Windows:
    found = _extents(image, size, a)
    output = [int(each[0] or 0) for each in found]
    return _Windows(size[:2], a["strides"][1:3], [each[1:] for each in found], output)


def _views(x: Any, w: _Windows, fill: float = 0.0) -> Any:
    """[image, row, column, row in the window, column in the window, channel]."""
    padded = np.pad(x, ((0, 0), *w.padding, (0, 0)), constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(padded, tuple(w.size), (1, 2))
    return views[:, :: w.strides[0], :: w.strides[1]].transpose(0, 1, 2, 4, 5, 3)


def _spread(parts: Any, image: Sequence[int], w: _Windows) -> Any:
    """The other way: what windows give back is added up where they lie."""
    (top, bottom), (left, right) = w.padding
    height, width = image[0] + top + bottom, image[1] + left + right
    whole = np.zeros((parts.shape[0], height, width, parts.shape[-1]), parts.dtype)
    (rows, columns), (down, across) = w.output, w.strides
    for y in range(w.size[0]):
        for x in range(w.size[1]):
            place = whole[:, y : y + rows * down : down, x : x + columns * across : across]
            place += parts[:, :, :, y, x]
    return whole[:, top : top + image[0], left : left + image[1]]


# -- convolutions; with fewer channels in the filter than in the image they are done in groups


def _conv_shape(i: Inference) -> TensorShape:
    image, filter_ = i.shape(0).with_rank(4), i.shape(1).with_rank(4)
    depth, channels = image[-1], filter_[3]
    if known(depth) and known(filter_[2]) and depth % filter_[2]:
        raise ValueError(
            f"Depth of input ({depth}) is not a multiple of input depth of filter ({filter_[2]})"
        )
    if "use_cudnn_on_gpu" not in i.attributes:  # depthwise: each channel has filters of its own
        channels = depth * channels if known(depth) and known(channels) else None
    sizes = [each[0] for each in _extents(image[1:3], filter_[:2], i.attributes)]
    return TensorShape([image[0], *sizes, channels])


def _given_shape(index: int) -> Callable[[Inference], TensorShape]:
    return lambda i: known_shape(i.inputs[index]).with_rank(4)


def _image_shape(i: Inference) -> TensorShape:
    shape, batch = known_shape(i.inputs[0]).with_rank(4), i.shape(2)[0]
    return TensorShape([batch if batch is not None else shape[0], *shape[1:]])


def _flat(views: Any) -> Any:
    """A row for each window."""
    return views.reshape(views.shape[0] * views.shape[1] * views.shape[2], -1)


def _groups(x: Any, *others: Any, depth: int) -> Any:
    count, odd = divmod(x, depth)
    if odd:
        raise invalid(f"input depth must be evenly divisible by filter depth: {x} vs {depth}")
    return zip(*(np.split(each, count, 3) for each in others), strict=True)


def _conv(x: Any, filter_: Any, **a: Any) -> Any:
    w = _windows_of(x.shape[1:3], filter_.shape, a)
    pairs = _groups(x.shape[3], x, filter_, depth=filter_.shape[2])
    parts = [_flat(_views(part, w)) @ each.reshape(-1, each.shape[3]) for part, each in pairs]
    return np.concatenate(parts, -1).reshape(x.shape[0], *w.output, filter_.shape[3])


def _conv_input(sizes: Any, filter_: Any, dy: Any, **a: Any) -> Any:
    w = _windows_of(sizes[1:3], filter_.shape, a)
    parts = []
    for part, each in _groups(int(sizes[3]), dy, filter_, depth=filter_.shape[2]):
        flat = part.reshape(-1, part.shape[3]) @ each.reshape(-1, each.shape[3]).T
        found = flat.reshape(sizes[0], *w.output, *w.size, filter_.shape[2])
        parts.append(_spread(found, sizes[1:3], w))
    return np.concatenate(parts, -1)


def _conv_filter(x: Any, sizes: Any, dy: Any, **a: Any) -> Any:
    shape = [int(each) for each in sizes]
    w = _windows_of(x.shape[1:3], shape, a)
    pairs = _groups(x.shape[3], x, dy, depth=shape[2])
    parts = [_flat(_views(part, w)).T @ each.reshape(-1, each.shape[3]) for part, each in pairs]
    return np.concatenate([part.reshape(*shape[:3], -1) for part in parts], -1)


def _in_groups(filter_: Any) -> Any:
    """The filters of a depthwise convolution, as those of one with a group for each channel."""
    return filter_.reshape(*filter_.shape[:2], 1, -1)


def _depthwise_filter(x: Any, sizes: Any, dy: Any, **a: Any) -> Any:
    rows, columns, channels, multiplier = (int(each) for each in sizes)
    return _conv_filter(x, (rows, columns, 1, channels * multiplier), dy, **a).reshape(tuple(sizes))


_DEPTHWISE = "strides, padding, explicit_paddings=[], data_format='NHWC', dilations=[1, 1, 1, 1]"
_CONV = _DEPTHWISE + ", use_cudnn_on_gpu=True"


def _chosen_attributes(op: Any, *names: str) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in names}


def _conv_gradient(op: Any, g: Any) -> list[Any]:
    x, filter_ = op.inputs
    a = _chosen_attributes(
        op, "strides", "padding", "explicit_paddings", "data_format", "dilations"
    )
    plain = op.type == "Conv2D"
    sizes = O.ShapeN([x, filter_]) if plain else [arrays.shape(x), arrays.shape(filter_)]
    of_input = call(f"{op.type}BackpropInput", sizes[0], filter_, g, **a)
    return [of_input, call(f"{op.type}BackpropFilter", x, sizes[1], g, **a)]


_TO_INPUT = "(input_sizes: int32, filter: T, out_backprop: T; "
_TO_FILTER = "(input: T, filter_sizes: int32, out_backprop: T; "
op(f"Conv2D(input: T, filter: T; {_CONV}) -> output: T", _conv_shape, _conv, _conv_gradient)
op(f"Conv2DBackpropInput{_TO_INPUT}{_CONV}) -> output: T", _image_shape, _conv_input)
op(f"Conv2DBackpropFilter{_TO_FILTER}{_CONV}) -> output: T", _given_shape(1), _conv_filter)
_NATIVE = "DepthwiseConv2dNative"
op(f"{_NATIVE}(input: T, filter: T; {_DEPTHWISE}) -> output: T", _conv_shape,
   lambda x, filter_, **a: _conv(x, _in_groups(filter_), **a), _conv_gradient)  # fmt: skip
op(f"{_NATIVE}BackpropInput{_TO_INPUT}{_DEPTHWISE}) -> output: T", _image_shape,
   lambda sizes, filter_, dy, **a: _conv_input(sizes, _in_groups(filter_), dy, **a))  # fmt: skip
op(f"{_NATIVE}BackpropFilter{_TO_FILTER}{_DEPTHWISE}) -> output: T", _given_shape(1),
   _depthwise_filter)  # fmt: skip


# -- pools


def _pool_shape(i: Inference) -> TensorShape:
    image = i.shape(0).with_rank(4)
    sizes = [each[0] for each in _extents(image[1:3], i["ksize"][1:3], i.attributes)]
    return TensorShape([image[0], *sizes, image[3]])


def _pool_windows(image: Any, a: Any) -> _Windows:
    return _windows_of(image[1:3], a["ksize"][1:3], a)


def _max_pool(x: Any, **a: Any) -> Any:
    return np.max(_views(x, _pool_windows(x.shape, a), -np.inf), axis=(3, 4))


def _max_pool_grad(x: Any, y: Any, dy: Any, **a: Any) -> Any:
    del y
    w = _pool_windows(x.shape, a)
    views = _views(x, w, -np.inf)
    flat = views.reshape(*views.shape[:3], -1, views.shape[-1])
    largest = np.arange(flat.shape[3])[:, None] == np.argmax(flat, axis=3)[:, :, :, None, :]
    parts = (largest * dy[:, :, :, None, :]).astype(dy.dtype)
    return _spread(parts.reshape(views.shape), x.shape[1:3], w)


def _counts(image: Any, w: _Windows) -> Any:
    """How many numbers of the image are in each window, its padding not counted."""
    return _views(np.ones((1, image[1], image[2], 1), np.float32), w).sum(axis=(3, 4))


def _avg_pool(x: Any, **a: Any) -> Any:
    w = _pool_windows(x.shape, a)
    return (np.sum(_views(x, w), axis=(3, 4)) / _counts(x.shape, w)).astype(x.dtype)


def _avg_pool_grad(sizes: Any, dy: Any, **a: Any) -> Any:
    w = _pool_windows(sizes, a)
    each = (dy / _counts(sizes, w)).astype(dy.dtype)[:, :, :, None, None, :]
    shape = (*each.shape[:3], *w.size, each.shape[-1])
    return _spread(np.broadcast_to(each, shape), sizes[1:3], w)


_POOL_NAMES = ("ksize", "strides", "padding", "data_format")
_POOL = "ksize, strides, padding, data_format='NHWC'"
_MAX = _POOL + ", explicit_paddings=[]"
op(f"MaxPool(input: T; {_MAX}) -> output: T", _pool_shape, _max_pool,
   lambda op, g: [O.MaxPoolGrad(op.inputs[0], op.outputs[0], g,
                                **_chosen_attributes(op, *_POOL_NAMES, "explicit_paddings"))])  # fmt: skip
op(f"MaxPoolGrad(orig_input: T, orig_output: T, grad: T; {_MAX}) -> output: T", same,
   _max_pool_grad)  # fmt: skip
op(f"AvgPool(value: T; {_POOL}) -> output: T", _pool_shape, _avg_pool,
   lambda op, g: [O.AvgPoolGrad(arrays.shape(op.inputs[0]), g,
                                **_chosen_attributes(op, *_POOL_NAMES))])  # fmt: skip
op(f"AvgPoolGrad(orig_input_shape: int32, grad: T; {_POOL}) -> output: T", _given_shape(0),
   _avg_pool_grad)  # fmt: skip

# -- batch normalisation


def _channels(i: Inference, index: int) -> TensorShape:
    shape = i.shape(index).with_rank(4)
    return TensorShape([shape[-1] if i["data_format"] == "NHWC" else shape[1]])


def _last(x: Any, form: str) -> Any:
    """With the channels last."""
    return (x if form == "NHWC" else np.moveaxis(x, 1, -1)).astype(np.float32)


def _back(values: Any, like: Any, form: str) -> Any:
    return (values if form == "NHWC" else np.moveaxis(values, -1, 1)).astype(like.dtype)


def _batch_norm(x: Any, scale: Any, offset: Any, mean: Any, variance: Any, **a: Any) -> Any:
    values, factor = _last(x, a["data_format"]), a["exponential_avg_factor"]
    chosen, new, nothing = (mean, variance), (mean, variance), np.zeros(0, np.float32)
    if a["is_training"]:
        chosen = np.mean(values, axis=(0, 1, 2)), np.var(values, axis=(0, 1, 2))
        count = values.size // max(values.shape[-1], 1)
        new = chosen[0], chosen[1] * (count / max(count - 1, 1))  # Bessel's correction
        if factor != 1.0:
            new = tuple(
                old * (1 - factor) + each * factor
                for old, each in zip((mean, variance), new, strict=True)
            )
    y = (values - chosen[0]) / np.sqrt(chosen[1] + a["epsilon"]) * scale + offset
    return _back(y, x, a["data_format"]), *new, *chosen, nothing


def _batch_norm_grad(
    dy: Any, x: Any, scale: Any, mean: Any, variance: Any, _: Any, **a: Any
) -> Any:
    dy, values = _last(dy, a["data_format"]), _last(x, a["data_format"])
    inverse, nothing = 1 / np.sqrt(variance + np.float32(a["epsilon"])), np.zeros(0, np.float32)
    centred = (values - mean) * inverse
    of_offset, of_scale = np.sum(dy, axis=(0, 1, 2)), np.sum(dy * centred, axis=(0, 1, 2))
    if a["is_training"]:
        count = values.size // max(values.shape[-1], 1)
        dy = dy - of_offset / count - centred * of_scale / count
    dx = _back(dy * scale * inverse, x, a["data_format"])
    return dx, of_scale, of_offset, nothing, nothing


def _batch_norm_gradient(op: Any, g: Any, *_: Any) -> list[Any]:
    x, scale, _, mean, variance = op.inputs
    a = _chosen_attributes(op, "epsilon", "data_format", "is_training")
    if a["is_training"]:
        mean, variance = op.outputs[3:5]
    found = O.FusedBatchNormGradV3(g, x, scale, mean, variance, op.outputs[5], **a)
    return [*found[:3], None, None]


_NORM = "epsilon=0.0001, data_format='NHWC', is_training=True"
op("FusedBatchNormV3(x: T, scale: U, offset: U, mean: U, variance: U; exponential_avg_factor=1.0, "
   f"{_NORM}) -> y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, "
   "reserve_space_3: U", lambda i: [i.shape(0), *[_channels(i, 0)] * 4, UNKNOWN],
   _batch_norm, _batch_norm_gradient)  # fmt: skip
op("FusedBatchNormGradV3(y_backprop: T, x: T, scale: float32, reserve_space_1: U, "
   f"reserve_space_2: U, reserve_space_3: U; {_NORM}) -> x_backprop: T, scale_backprop: U, "
   "offset_backprop: U, reserve_space_4: U, reserve_space_5: U",
   lambda i: [i.shape(0), *[_channels(i, 1)] * 2, *[TensorShape([0])] * 2],
   _batch_norm_grad)  # fmt: skip
