"""Repeating, padding and turning: Tile, Pad, MirrorPad, ReverseV2, ReverseSequence, Roll; and where
things are: UnravelIndex, HistogramFixedWidth.

Told about: `core/ops/array_ops.cc`, `python/ops/array_grad.py`, `python/ops/manip_grad.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import constant_shape, folded_value
from tflogscope.runtime.context import executing_eagerly
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.indexed_slices import dense
from tflogscope.runtime.library import arrays, reductions
from tflogscope.runtime.library import joining as lib
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import UNKNOWN, TensorShape, dims_text

Array = NDArray[Any]


def _refuse(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


def _tile_shape(i: Inference) -> TensorShape:
    """Told about: REGISTER_OP("Tile"): what is repeated 0 times has size 0 in any case."""
    i.shape_of_rank(1, 1)
    multiples = constant_shape(i.inputs[1])
    if i.shape(0).rank is None or multiples.rank is None:
        return TensorShape(None if multiples.rank is None else [_times(None, k) for k in multiples])
    if multiples.rank != i.shape(0).rank:
        text = f"Shape must be rank {i.shape(0).rank} but is rank {multiples.rank}"
        raise ValueError(text)
    pairs = zip(i.shape(0), multiples, strict=True)
    return TensorShape(_times(dim, times) for dim, times in pairs)


def _times(dim: int | None, times: int | None) -> int | None:
    """`InferenceContext::Multiply`."""
    if 0 in (dim, times):
        return 0
    return None if dim is None or times is None else dim * times


@op("Tile(input: T, multiples: Tmultiples; Tmultiples=int32) -> output: T", shape=_tile_shape)
def _tile(input: Array, multiples: Array) -> Array:
    if multiples.ndim != 1:
        raise _refuse(f"Expected multiples to be 1-D, but got shape {dims_text(multiples.shape)}")
    if len(multiples) != input.ndim:
        raise _refuse(
            f"Expected multiples argument to be a vector of length {input.ndim} but got length "
            f"{len(multiples)}"
        )
    for at, times in enumerate(multiples):
        if times < 0:
            raise _refuse(f"Expected multiples[{at}] >= 0, but got {int(times)}")
    return np.tile(input, tuple(multiples))


@gradient("Tile")
def _tile_gradient(record: OpRecord, grad: Any) -> list[Any]:
    value, multiples = record.inputs
    shape = arrays.shape(value, out_type=multiples.dtype)
    from tflogscope.runtime.library.linalg import transpose

    split = arrays.reshape(transpose(lib.stack([multiples, shape])), [-1])
    axes = arrays.range(0, arrays.size(split), 2)
    summed = reductions.reduce_sum(arrays.reshape(dense(grad), split), axes)
    if not executing_eagerly():
        summed.set_shape(value.shape)
    return [summed, None]


def _pad_shape(i: Inference) -> TensorShape:
    return lib.paddings_shape(i.shape(0), i.inputs[1])


def _check_paddings(paddings: Array) -> None:
    for before, after in paddings:
        if before < 0 or after < 0:
            raise _refuse(f"Paddings must be non-negative: {int(before)} {int(after)}")


@op("Pad(input: T, paddings: Tpaddings; Tpaddings=int32) -> output: T", shape=_pad_shape)
def _pad(input: Array, paddings: Array) -> Array:
    if len(paddings) != input.ndim:
        raise _refuse(
            "The first dimension of paddings must be the rank of inputs"
            f"{dims_text(paddings.shape)} {dims_text(input.shape)}"
        )
    _check_paddings(paddings)
    return np.pad(input, paddings)


@op(
    "PadV2(input: T, paddings: Tpaddings, constant_values: T; Tpaddings=int32) -> output: T",
    shape=_pad_shape,
)
def _pad_v2(input: Array, paddings: Array, constant_values: Array) -> Array:
    _check_paddings(paddings)
    return np.pad(input, paddings, constant_values=constant_values)


@op(
    "MirrorPad(input: T, paddings: Tpaddings; Tpaddings=int32, mode) -> output: T", shape=_pad_shape
)
def _mirror_pad(input: Array, paddings: Array, mode: str) -> Array:
    for (before, after), size in zip(paddings.tolist(), input.shape, strict=True):
        if before < 0 or after < 0:
            raise _refuse(f"paddings must be non-negative: {before} {after}")
        pair = f"{before}, {after}"
        if mode == "REFLECT" and max(before, after) >= size:
            text = f"paddings must be less than the dimension size: {pair} not less than {size}"
            raise _refuse(text)
        if mode == "SYMMETRIC" and max(before, after) > size:
            text = "paddings must be no greater than the dimension size"
            raise _refuse(f"{text}: {pair} greater than {size}")
    return np.pad(input, paddings, mode=mode.lower())  # type: ignore[call-overload, no-any-return]


def _unpadded_shape(i: Inference) -> TensorShape:
    value = folded_value(i.inputs[1])
    if i.shape(0).rank is None or value is None:
        return UNKNOWN
    pairs = zip(i.shape(0).as_list(), value, strict=True)
    return TensorShape(None if dim is None else dim - int(sum(pair)) for dim, pair in pairs)


@op(
    "MirrorPadGrad(input: T, paddings: Tpaddings; Tpaddings=int32, mode) -> output: T",
    shape=_unpadded_shape,
)
def _mirror_pad_grad(input: Array, paddings: Array, mode: str) -> Array:
    """What was mirrored is added to what it is a mirror of."""
    result = input
    for axis, (before, after) in enumerate(paddings):
        size = result.shape[axis] - before - after
        where = _mirror_pad(np.arange(size), np.array([(before, after)]), mode)
        moved = np.moveaxis(result, axis, 0)
        summed = np.zeros((size, *moved.shape[1:]), input.dtype)
        np.add.at(summed, where, moved)
        result = np.moveaxis(summed, 0, axis)
    return np.ascontiguousarray(result)


@gradient("MirrorPad")
def _mirror_pad_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [call("MirrorPadGrad", grad, record.inputs[1], mode=record.get_attr("mode")), None]


def _pad_gradient(record: OpRecord, grad: Any) -> list[Any]:
    """The part of the gradient that is not border."""
    x, paddings = record.inputs[:2]
    before = call("Slice", paddings, [0, 0], lib.stack([arrays.rank(x), 1]))
    begin = arrays.reshape(before, [-1])
    found = call("Slice", grad, begin, arrays.shape(x))
    return [found] + [None] * (len(record.inputs) - 1)


gradient("Pad")(_pad_gradient)
gradient("PadV2")(_pad_gradient)


def _reversed_shape(i: Inference) -> TensorShape:
    """The same. Raises ValueError for an axis that is outside or named twice."""
    i.shape_of_rank(1, 1)
    axes, rank = folded_value(i.inputs[1]), i.shape(0).rank
    seen: list[int] = []
    for axis in () if axes is None or rank is None else map(int, np.ravel(axes)):
        place = axis + rank if axis < 0 else axis  # type: ignore[operator]
        if not 0 <= place < rank:  # type: ignore[operator]
            text = f"reverse axis {axis} is out of bounds for tensor of rank {rank}"
            raise ValueError(text)
        if place in seen:
            raise ValueError(f"axis {place} specified more than once.")
        seen.append(place)
    return i.shape(0)


@op("ReverseV2(tensor: T, axis: Tidx; Tidx=int32) -> output: T", shape=_reversed_shape)
def _reverse(tensor: Array, axis: Array) -> Array:
    """NB: a scalar stays as it is whatever the axes."""
    if axis.ndim != 1:
        raise _refuse(f"'dims' must be 1-dimension, not {axis.ndim}")
    axes: list[int] = []
    for at, each in enumerate(map(int, axis) if tensor.ndim else ()):
        place = each + tensor.ndim if each < 0 else each
        if not 0 <= place < tensor.ndim:
            text = f"'axis'[{at}] = {each} is out of valid range [0, {tensor.ndim - 1}"
            raise InvalidArgumentError(None, None, text)
        if place in axes:
            raise InvalidArgumentError(None, None, f"axis {place} specified more than once.")
        axes.append(place)
    return np.flip(tensor, tuple(axes)).copy()


@gradient("ReverseV2")
def _reverse_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [call("ReverseV2", grad, record.inputs[1]), None]


def _batched_shape(i: Inference) -> TensorShape:
    """As many elements in the batch as there are lengths."""
    shape, count, at = i.shape(0), i.shape_of_rank(1, 1)[0], i.attributes["batch_dim"]
    if shape.rank is None:
        return UNKNOWN
    dims = shape.as_list()
    if None not in (dims[at], count) and dims[at] != count:
        raise ValueError(f"Dimensions must be equal, but are {dims[at]} and {count}")
    dims[at] = count if dims[at] is None else dims[at]
    return TensorShape(dims)


@op(
    "ReverseSequence(input: T, seq_lengths: Tlen; seq_dim, batch_dim=0, Tlen in index) -> output: "
    "T",
    shape=_batched_shape,
)
def _reverse_sequence(input: Array, seq_lengths: Array, seq_dim: int, batch_dim: int) -> Array:
    """Of each element of the batch the first few places, the other way round."""
    result = input.copy()
    turned = np.moveaxis(result, (batch_dim, seq_dim), (0, 1))
    for element, length in zip(turned, seq_lengths, strict=True):
        element[:length] = element[:length][::-1].copy()
    return result


@gradient("ReverseSequence")
def _reverse_sequence_gradient(record: OpRecord, grad: Any) -> list[Any]:
    axes = {name: record.get_attr(name) for name in ("seq_dim", "batch_dim")}
    return [call("ReverseSequence", grad, record.inputs[1], **axes), None]


@op("Roll(input: T, shift: Tshift, axis: Taxis; Tshift in index, Taxis in index) -> output: T")
def _roll(input: Array, shift: Array, axis: Array) -> Array:
    return np.roll(input, tuple(np.ravel(shift)), tuple(np.ravel(axis)))


@gradient("Roll")
def _roll_gradient(record: OpRecord, grad: Any) -> list[Any]:
    _, shift, axis = record.inputs
    return [call("Roll", grad, -shift, axis), None, None]


def _unraveled_shape(i: Inference) -> TensorShape:
    """A coordinate for each dimension; for several indices, one below the other."""
    indices, dims = i.shape(0), i.shape(1)
    if indices.rank is None:
        return UNKNOWN
    count = dims.num_elements()
    return TensorShape([count] if indices.rank == 0 else [count, indices.num_elements()])


@op("UnravelIndex(indices: Tidx, dims: Tidx; Tidx=int32) -> output: Tidx", shape=_unraveled_shape)
def _unravel_index(indices: Array, dims: Array) -> Array:
    if np.any(indices >= np.prod(dims)):
        raise InvalidArgumentError(None, None, "index is out of bound as with dims")
    return np.asarray(np.unravel_index(indices, tuple(dims)), indices.dtype)


def _bins_shape(i: Inference) -> TensorShape:
    nbins = folded_value(i.inputs[2])
    return TensorShape([None if nbins is None else int(nbins)])


@op(
    "HistogramFixedWidth(values: T, value_range: T, nbins: int32; dtype=int32, T in int32 int64 "
    "float32 float64) -> out: dtype",
    shape=_bins_shape,
)
def _histogram(values: Array, value_range: Array, nbins: Array, dtype: DType) -> Array:
    """How many values fall between equally distant limits; those outside count at the ends."""
    low, high = (float(each) for each in value_range)
    places = np.floor((values.ravel() - low) / (high - low) * int(nbins)).astype(np.int64)
    counts = np.bincount(np.clip(places, 0, int(nbins) - 1), minlength=int(nbins))
    return counts.astype(dtype.as_numpy_dtype)
