"""Convolutions, pools, batch normalisation. See `core/framework/common_shape_fns.cc`,
`core/kernels/fused_batch_norm_op.cc`, `tensorflow/python/ops/nn_grad.py`.

NB: the channels are last; padding is SAME or VALID, and windows have no
gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.known import known_shape
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import UNKNOWN, Dim, TensorShape, known
from tflogscope.runtime.library import arrays
from tflogscope.runtime.ops.rules import same

# -- windows over an image


class _Windows(NamedTuple):
    """How windows of a filter or pool lie on an image: rows, then columns."""

    size: Sequence[int]
    strides: Sequence[int]
    padding: list[tuple[int, int]]
    output: list[int]

    def places(self) -> Iterator[tuple[int, int, Any]]:
        """Of each number in a window its row, its column, and where all windows have it in the image."""
        (rows, columns), (down, across) = self.output, self.strides
        for y, x in np.ndindex(*self.size):
            at = slice(y, y + rows * down, down), slice(x, x + columns * across, across)
            yield y, x, (slice(None), *at)

    def padded(self, image: Any, fill: float = 0.0) -> Any:
        return np.pad(image, ((0, 0), *self.padding, (0, 0)), constant_values=fill)

    def blank(self, shape: Any, dtype: Any) -> Any:
        """A padded image of zeros, and the part of it that is the image."""
        whole = self.padded(np.zeros([int(size) for size in shape], dtype))
        (top, _), (left, _) = self.padding
        return whole, whole[:, top : top + shape[1], left : left + shape[2]]


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
    found = _extents(image[1:3], size, a)
    output = [int(each[0] or 0) for each in found]
    sizes = [int(each) for each in size[:2]]
    return _Windows(sizes, a["strides"][1:3], [each[1:] for each in found], output)


# -- convolutions


def _conv_shape(i: Inference) -> TensorShape:
    image, filter_ = i.shape(0).with_rank(4), i.shape(1).with_rank(4)
    depth, channels = image[-1], filter_[3]
    if known(depth) and known(filter_[2]) and depth != filter_[2]:
        raise ValueError(f"The image has {depth} channels, the filter is for {filter_[2]}")
    if "use_cudnn_on_gpu" not in i.attributes:  # depthwise: each channel has filters of its own
        channels = depth * channels if known(depth) and known(channels) else None
    sizes = [each[0] for each in _extents(image[1:3], filter_[:2], i.attributes)]
    return TensorShape([image[0], *sizes, channels])


def _given_shape(index: int) -> Callable[[Inference], TensorShape]:
    return lambda i: known_shape(i.inputs[index]).with_rank(4)


def _image_shape(i: Inference) -> TensorShape:
    shape, batch = known_shape(i.inputs[0]).with_rank(4), i.shape(2)[0]
    return TensorShape([batch if batch is not None else shape[0], *shape[1:]])


def _conv(x: Any, filter_: Any, **a: Any) -> Any:
    w = _windows_of(x.shape, filter_.shape, a)
    padded = w.padded(x)
    return sum(padded[at] @ filter_[y, x] for y, x, at in w.places())


def _conv_input(sizes: Any, filter_: Any, dy: Any, **a: Any) -> Any:
    w = _windows_of(sizes, filter_.shape, a)
    whole, image = w.blank(sizes, dy.dtype)
    for y, x, at in w.places():
        whole[at] += dy @ filter_[y, x].T
    return image


def _conv_filter(image: Any, sizes: Any, dy: Any, **a: Any) -> Any:
    w = _windows_of(image.shape, sizes, a)
    padded, result = w.padded(image), np.zeros(tuple(sizes), dy.dtype)
    for y, x, at in w.places():
        result[y, x] = np.tensordot(padded[at], dy, ((0, 1, 2), (0, 1, 2)))
    return result


def _by_channel(dy: Any, filters: Any) -> Any:
    """What came of a depthwise convolution: a dimension of channels, and one of their filters."""
    return dy.reshape(*dy.shape[:3], *filters[2:])


def _depthwise(x: Any, filter_: Any, **a: Any) -> Any:
    w = _windows_of(x.shape, filter_.shape, a)
    padded = w.padded(x)
    found: Any = sum(padded[at][..., None] * filter_[y, x] for y, x, at in w.places())
    return found.reshape(*found.shape[:3], -1)


def _depthwise_input(sizes: Any, filter_: Any, dy: Any, **a: Any) -> Any:
    w, dy = _windows_of(sizes, filter_.shape, a), _by_channel(dy, filter_.shape)
    whole, image = w.blank(sizes, dy.dtype)
    for y, x, at in w.places():
        whole[at] += (dy * filter_[y, x]).sum(-1)
    return image


def _depthwise_filter(image: Any, sizes: Any, dy: Any, **a: Any) -> Any:
    w, dy = _windows_of(image.shape, sizes, a), _by_channel(dy, sizes)
    padded, result = w.padded(image), np.zeros(tuple(sizes), dy.dtype)
    for y, x, at in w.places():
        result[y, x] = (padded[at][..., None] * dy).sum((0, 1, 2))
    return result


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


for _type, _attributes, _kernels in (
    ("Conv2D", _CONV, (_conv, _conv_input, _conv_filter)),
    ("DepthwiseConv2dNative", _DEPTHWISE, (_depthwise, _depthwise_input, _depthwise_filter)),
):
    op(f"{_type}(input: T, filter: T; {_attributes}) -> output: T", _conv_shape, _kernels[0],
       _conv_gradient)  # fmt: skip
    op(f"{_type}BackpropInput(input_sizes: int32, filter: T, out_backprop: T; {_attributes}) -> "
       "output: T", _image_shape, _kernels[1])  # fmt: skip
    op(f"{_type}BackpropFilter(input: T, filter_sizes: int32, out_backprop: T; {_attributes}) -> "
       "output: T", _given_shape(1), _kernels[2])  # fmt: skip


# -- pools


def _pool_shape(i: Inference) -> TensorShape:
    image = i.shape(0).with_rank(4)
    sizes = [each[0] for each in _extents(image[1:3], i["ksize"][1:3], i.attributes)]
    return TensorShape([image[0], *sizes, image[3]])


def _max_pool(x: Any, **a: Any) -> Any:
    w = _windows_of(x.shape, a["ksize"][1:3], a)
    padded = w.padded(x, -np.inf)
    return np.maximum.reduce([padded[at] for _, _, at in w.places()])


def _max_pool_grad(x: Any, y: Any, dy: Any, **a: Any) -> Any:
    """To the first of the largest in each window."""
    w = _windows_of(x.shape, a["ksize"][1:3], a)
    padded, (whole, image) = w.padded(x, -np.inf), w.blank(x.shape, dy.dtype)
    left = np.ones(y.shape, bool)
    for _, _, at in w.places():
        first = left & (padded[at] == y)
        whole[at] += dy * first
        left &= ~first
    return image


def _counts(shape: Any, w: _Windows) -> Any:
    """How many numbers of the image are in each window, its padding not counted."""
    padded = w.padded(np.ones((1, shape[1], shape[2], 1), np.float32))
    return sum(padded[at] for _, _, at in w.places())


def _avg_pool(x: Any, **a: Any) -> Any:
    w = _windows_of(x.shape, a["ksize"][1:3], a)
    padded = w.padded(x)
    return (sum(padded[at] for _, _, at in w.places()) / _counts(x.shape, w)).astype(x.dtype)


def _avg_pool_grad(sizes: Any, dy: Any, **a: Any) -> Any:
    w = _windows_of(sizes, a["ksize"][1:3], a)
    whole, image = w.blank(sizes, dy.dtype)
    for _, _, at in w.places():
        whole[at] += (dy / _counts(sizes, w)).astype(dy.dtype)
    return image


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
    if i["data_format"] != "NHWC":
        raise NotInThisRuntime("Batch normalisation of channels that are not last")
    return TensorShape([i.shape(index).with_rank(4)[-1]])


def _batch_norm(x: Any, scale: Any, offset: Any, mean: Any, variance: Any, **a: Any) -> Any:
    values, factor = x.astype(np.float32), a["exponential_avg_factor"]
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
    return y.astype(x.dtype), *new, *chosen, nothing


def _batch_norm_grad(
    dy: Any, x: Any, scale: Any, mean: Any, variance: Any, _: Any, **a: Any
) -> Any:
    dy, values = dy.astype(np.float32), x.astype(np.float32)
    inverse, nothing = 1 / np.sqrt(variance + np.float32(a["epsilon"])), np.zeros(0, np.float32)
    centred = (values - mean) * inverse
    of_offset, of_scale = np.sum(dy, axis=(0, 1, 2)), np.sum(dy * centred, axis=(0, 1, 2))
    if a["is_training"]:
        count = values.size // max(values.shape[-1], 1)
        dy = dy - of_offset / count - centred * of_scale / count
    return (dy * scale * inverse).astype(x.dtype), of_scale, of_offset, nothing, nothing


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
