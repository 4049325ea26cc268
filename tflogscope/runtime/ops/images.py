"""Convolutions, pools, batch normalisation. See `core/framework/common_shape_fns.cc`,
`tensorflow/python/ops/nn_grad.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.known import known_shape
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import Dim, TensorShape, known
from tflogscope.runtime.library import arrays
from tflogscope.runtime.ops.rules import invalid, same

# -- windows over an image


class _Windows(NamedTuple):
    """How windows of a filter or pool lie on an image: rows, then columns."""

    size: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    padding: list[tuple[int, int]]
    output: list[int]


def _spatial(values: Any, form: str) -> tuple[Any, Any]:
    return (values[1], values[2]) if form == "NHWC" else (values[2], values[3])


def _extent(
    whole: Dim, size: Dim, stride: int, dilation: int, padding: Any
) -> tuple[Dim, int, int]:
    """How many windows fit, and the padding before and after. Raises ValueError if none does."""
    if padding == "SAME" and (size is None or not known(whole)):
        return (None if whole is None or not known(whole) else -(-whole // stride)), 0, 0
    if size is None or whole is None or not known(whole):
        return None, 0, 0
    reach = (size - 1) * dilation + 1
    if padding == "SAME":
        count = -(-whole // stride)
        total = max((count - 1) * stride + reach - whole, 0)
        return count, total // 2, total - total // 2
    before, after = (0, 0) if padding == "VALID" else padding
    count = (whole + before + after - reach) // stride + 1
    if count <= 0 < whole:
        raise ValueError(
            f"Negative dimension size caused by subtracting {reach} from {whole + before + after}"
        )
    return count, before, after


def _extents(image: Sequence[Dim], size: Sequence[Dim], a: Any) -> list[tuple[Dim, int, int]]:
    """For rows and columns; `a` has the attributes."""
    form = a["data_format"]
    strides, dilations = _spatial(a["strides"], form), _spatial(a.get("dilations", [1] * 4), form)
    padding: Any = [a["padding"]] * 4
    if a["padding"] == "EXPLICIT":
        given = a["explicit_paddings"]
        padding = list(zip(given[::2], given[1::2], strict=True))
    rows = zip(image, size, strides, dilations, _spatial(padding, form), strict=True)
    return [_extent(*each) for each in rows]


def _windows_of(image: Sequence[int], size: Sequence[int], a: Any) -> _Windows:
    try:
        rows, columns = _extents(image, size, a)
    except ValueError as error:
        raise invalid(str(error)) from None
    strides = _spatial(a["strides"], a["data_format"])
    dilations = _spatial(a.get("dilations", [1] * 4), a["data_format"])
    output = [int(each[0] or 0) for each in (rows, columns)]
    return _Windows((size[0], size[1]), strides, dilations, [rows[1:], columns[1:]], output)


def _views(x: Any, w: _Windows, fill: float = 0.0) -> Any:
    """[image, row, column, row in the window, column in the window, channel]."""
    padded = np.pad(x, ((0, 0), *w.padding, (0, 0)), constant_values=fill)
    batch, row, column, channel = padded.strides
    steps = (
        batch,
        row * w.strides[0],
        column * w.strides[1],
        row * w.dilations[0],
        column * w.dilations[1],
        channel,
    )
    shape = (x.shape[0], *w.output, *w.size, x.shape[3])
    return np.lib.stride_tricks.as_strided(padded, shape, steps, writeable=False)


def _spread(parts: Any, image: Sequence[int], w: _Windows) -> Any:
    """The other way: what windows give back is added up where they lie."""
    (top, bottom), (left, right) = w.padding
    height, width = image[0] + top + bottom, image[1] + left + right
    whole = np.zeros((parts.shape[0], height, width, parts.shape[-1]), parts.dtype)
    rows, columns = w.output
    for y in range(w.size[0]):
        for x in range(w.size[1]):
            first, second = y * w.dilations[0], x * w.dilations[1]
            whole[
                :,
                first : first + rows * w.strides[0] : w.strides[0],
                second : second + columns * w.strides[1] : w.strides[1],
            ] += parts[:, :, :, y, x]
    return whole[:, top : top + image[0], left : left + image[1]]


def channels_last(x: Any, form: str) -> Any:
    """With the channels last."""
    return x if form == "NHWC" else np.moveaxis(x, 1, -1)


def channels_back(x: Any, form: str) -> Any:
    return np.ascontiguousarray(x if form == "NHWC" else np.moveaxis(x, -1, 1))


def _sizes(given: Any, form: str) -> tuple[int, ...]:
    batch, *dims = (int(each) for each in given)
    return (batch, *dims) if form == "NHWC" else (batch, dims[1], dims[2], dims[0])


# -- convolutions; with fewer channels in the filter than in the image they are done in groups


def _conv_shape(i: Inference) -> TensorShape:
    image, filter_ = i.shape(0).with_rank(4), i.shape(1).with_rank(4)
    form = i["data_format"]
    depth = image[-1] if form == "NHWC" else image[1]
    if known(depth) and known(filter_[2]) and depth % filter_[2]:
        raise ValueError(
            f"Depth of input ({depth}) is not a multiple of input depth of filter ({filter_[2]})"
        )
    sizes = [each[0] for each in _extents(_spatial(image, form), filter_[:2], i.attributes)]
    channels = filter_[3]
    if "use_cudnn_on_gpu" not in i.attributes:  # depthwise: each channel has filters of its own
        channels = depth * filter_[3] if known(depth) and known(filter_[3]) else None
    placed = [*sizes, channels] if form == "NHWC" else [channels, *sizes]
    return TensorShape([image[0], *placed])


def _given_shape(index: int) -> Callable[[Inference], TensorShape]:
    return lambda i: known_shape(i.inputs[index]).with_rank(4)


def _image_shape(i: Inference) -> TensorShape:
    shape, batch = known_shape(i.inputs[0]).with_rank(4), i.shape(2)[0]
    return TensorShape([batch if batch is not None else shape[0], *shape[1:]])


def _conv(x: Any, filter_: Any, **a: Any) -> Any:
    x = channels_last(x, a["data_format"])
    groups, odd = divmod(x.shape[3], filter_.shape[2])
    if odd:
        raise invalid(
            "input depth must be evenly divisible by filter depth: "
            f"{x.shape[3]} vs {filter_.shape[2]}"
        )
    w = _windows_of(x.shape[1:3], filter_.shape[:2], a)
    pairs = zip(np.split(x, groups, 3), np.split(filter_, groups, 3), strict=True)
    parts = [_flat(_views(part, w)) @ each.reshape(-1, each.shape[3]) for part, each in pairs]
    joined = np.concatenate(parts, -1).reshape(x.shape[0], *w.output, filter_.shape[3])
    return channels_back(joined, a["data_format"])


def _flat(views: Any) -> Any:
    return views.reshape(views.shape[0] * views.shape[1] * views.shape[2], -1)


def _conv_input(sizes: Any, filter_: Any, dy: Any, **a: Any) -> Any:
    shape, dy = _sizes(sizes, a["data_format"]), channels_last(dy, a["data_format"])
    w = _windows_of(shape[1:3], filter_.shape[:2], a)
    groups, parts = shape[3] // filter_.shape[2], []
    for part, each in zip(np.split(dy, groups, 3), np.split(filter_, groups, 3), strict=True):
        flat = part.reshape(-1, part.shape[3]) @ each.reshape(-1, each.shape[3]).T
        found = flat.reshape(shape[0], *w.output, *w.size, filter_.shape[2])
        parts.append(_spread(found, shape[1:3], w))
    return channels_back(np.concatenate(parts, -1), a["data_format"])


def _conv_filter(x: Any, sizes: Any, dy: Any, **a: Any) -> Any:
    x, dy = (channels_last(each, a["data_format"]) for each in (x, dy))
    shape = [int(each) for each in sizes]
    w = _windows_of(x.shape[1:3], shape[:2], a)
    groups = x.shape[3] // shape[2]
    pairs = zip(np.split(x, groups, 3), np.split(dy, groups, 3), strict=True)
    parts = [_flat(_views(part, w)).T @ each.reshape(-1, each.shape[3]) for part, each in pairs]
    return np.concatenate([part.reshape(*shape[:3], -1) for part in parts], -1)


def _in_groups(filter_: Any) -> Any:
    """The filters of a depthwise convolution, as those of one with a group for each channel."""
    return filter_.reshape(*filter_.shape[:2], 1, -1)


def _depthwise_filter(x: Any, sizes: Any, dy: Any, **a: Any) -> Any:
    rows, columns, channels, multiplier = (int(each) for each in sizes)
    return _conv_filter(x, (rows, columns, 1, channels * multiplier), dy, **a).reshape(tuple(sizes))


_CONV_NAMES = ("strides", "padding", "explicit_paddings", "data_format", "dilations")
_DEPTHWISE = "strides, padding, explicit_paddings=[], data_format='NHWC', dilations=[1, 1, 1, 1]"
_CONV = _DEPTHWISE + ", use_cudnn_on_gpu=True"


def chosen_attributes(op: Any, *names: str) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in names}


def _conv_gradient(op: Any, g: Any) -> list[Any]:
    x, filter_ = op.inputs
    a = chosen_attributes(op, *_CONV_NAMES)
    if op.type == "Conv2D":
        sizes = O.ShapeN([x, filter_])
    else:
        sizes = [arrays.shape(x), arrays.shape(filter_)]
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
    form, image = i["data_format"], i.shape(0).with_rank(4)
    size = _spatial(i["ksize"], form)
    rows, columns = (each[0] for each in _extents(_spatial(image, form), size, i.attributes))
    batch, first, _, last = image
    return TensorShape(
        [batch, rows, columns, last] if form == "NHWC" else [batch, first, rows, columns]
    )


def _pool_windows(x: Any, a: Any) -> _Windows:
    return _windows_of(x.shape[1:3], _spatial(a["ksize"], a["data_format"]), a)


def _max_pool(x: Any, **a: Any) -> Any:
    x = channels_last(x, a["data_format"])
    views = _views(x, _pool_windows(x, a), -np.inf)
    return channels_back(np.max(views, axis=(3, 4)), a["data_format"])


def _chosen(x: Any, w: _Windows) -> Any:
    """Where the largest is: [image, row, column, place in the window, channel]."""
    flat = _in_window(_views(x, w, -np.inf))
    return np.arange(flat.shape[3])[:, None] == np.argmax(flat, axis=3)[:, :, :, None, :]


def _in_window(views: Any) -> Any:
    return views.reshape(*views.shape[:3], -1, views.shape[-1])


def _max_pool_grad(x: Any, y: Any, dy: Any, **a: Any) -> Any:
    del y
    x, dy = (channels_last(each, a["data_format"]) for each in (x, dy))
    w = _pool_windows(x, a)
    flat = (_chosen(x, w) * dy[:, :, :, None, :]).astype(dy.dtype)
    parts = flat.reshape(*flat.shape[:3], *w.size, flat.shape[-1])
    return channels_back(_spread(parts, x.shape[1:3], w), a["data_format"])


def _counts(image: Sequence[int], w: _Windows) -> Any:
    """How many numbers of the image are in each window, its padding not counted."""
    return _views(np.ones((1, *image, 1), np.float32), w).sum(axis=(3, 4))


def _avg_pool(x: Any, **a: Any) -> Any:
    x = channels_last(x, a["data_format"])
    w = _pool_windows(x, a)
    means = np.sum(_views(x, w), axis=(3, 4)) / _counts(x.shape[1:3], w)
    return channels_back(means.astype(x.dtype), a["data_format"])


def _avg_pool_grad(sizes: Any, dy: Any, **a: Any) -> Any:
    image, dy = _sizes(sizes, a["data_format"])[1:3], channels_last(dy, a["data_format"])
    w = _windows_of(image, _spatial(a["ksize"], a["data_format"]), a)
    each = (dy / _counts(image, w)).astype(dy.dtype)
    shape = (*each.shape[:3], *w.size, each.shape[3])
    return channels_back(
        _spread(np.broadcast_to(each[:, :, :, None, None, :], shape), image, w), a["data_format"]
    )


_POOL_NAMES = ("ksize", "strides", "padding", "data_format")
_POOL = "ksize, strides, padding, data_format='NHWC'"
_MAX = _POOL + ", explicit_paddings=[]"
op(f"MaxPool(input: T; {_MAX}) -> output: T", _pool_shape, _max_pool,
   lambda op, g: [O.MaxPoolGrad(op.inputs[0], op.outputs[0], g,
                                **chosen_attributes(op, *_POOL_NAMES, "explicit_paddings"))])  # fmt: skip
op(f"MaxPoolGrad(orig_input: T, orig_output: T, grad: T; {_MAX}) -> output: T", same,
   _max_pool_grad)  # fmt: skip
op(f"AvgPool(value: T; {_POOL}) -> output: T", _pool_shape, _avg_pool,
   lambda op, g: [O.AvgPoolGrad(arrays.shape(op.inputs[0]), g,
                                **chosen_attributes(op, *_POOL_NAMES))])  # fmt: skip
op(f"AvgPoolGrad(orig_input_shape: int32, grad: T; {_POOL}) -> output: T", _given_shape(0),
   _avg_pool_grad,
   lambda op, g: [arrays.stop_gradient(op.inputs[0]),
                  O.AvgPool(g, **chosen_attributes(op, *_POOL_NAMES))])  # fmt: skip
