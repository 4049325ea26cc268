"""Slices, gathering, scattering. See `core/ops/array_ops.cc`, `tensorflow/python/ops/array_grad.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.context import executing_eagerly
from tflogscope.runtime.core.dtypes import int32, int64
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.known import known_shape, known_value
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import UNKNOWN, Dim, TensorShape, known
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.slices import IndexedSlices, dense, gather
from tflogscope.runtime.ops.rules import invalid, known_int

# -- StridedSlice: what `x[1:, 0]` makes

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
_LIMITS = "begin: Index, end: Index, strides: Index"
_OPTIONS = ", ".join(f"{each}=0" for each in _MASKS)


def _keys(begin: Any, end: Any, strides: Any, masks: Any) -> tuple[Any, ...]:
    """The slice as NumPy takes it."""
    keys: list[Any] = []
    for k in range(len(begin)):
        bit = 1 << k
        if masks["ellipsis_mask"] & bit:
            keys.append(Ellipsis)
        elif masks["new_axis_mask"] & bit:
            keys.append(None)
        elif masks["shrink_axis_mask"] & bit:
            keys.append(int(begin[k]))
        else:
            first = None if masks["begin_mask"] & bit else int(begin[k])
            last = None if masks["end_mask"] & bit else int(end[k])
            keys.append(slice(first, last, int(strides[k])))
    return tuple(keys)


def _sliced(i: Inference) -> TensorShape:
    limits = [known_value(each) for each in i.inputs[1:4]]
    dims, count = i.shape(0).dims, i.shape(1).dims
    if dims is None or not count or not known(count[0]):
        return UNKNOWN
    sizes = int(count[0] or 0)
    begin, end, strides = (np.full(sizes, 1) if each is None else each for each in limits)
    keys = _keys(begin, end, strides, i.attributes)
    exact = all(each is not None for each in limits)
    return TensorShape(list(_sizes(keys, list(dims), exact)))


def _sizes(keys: tuple[Any, ...], dims: list[Dim], exact: bool) -> Iterator[Dim]:
    hidden = len(dims) - sum(key is not None and key is not Ellipsis for key in keys)
    for key in keys:
        if key is None:
            yield 1
        elif key is Ellipsis:
            yield from (dims.pop(0) for _ in range(hidden))
        else:
            dim = dims.pop(0)
            size = dim if dim is not None and dim >= 0 and exact else None
            if isinstance(key, int):
                if size is not None and not -size <= key < size:
                    raise ValueError(f"slice index {key} of dimension 0 out of bounds.")
            elif key in (slice(None, None, 1), slice(0, None, 1)):
                yield dim
            else:
                yield None if size is None else len(range(*key.indices(size)))
    yield from dims


def _slice_gradient(op: Any, g: Any) -> list[Any]:
    inputs = arrays.shape(op.inputs[0], op.inputs[1].dtype), *op.inputs[1:4]
    values = [(each, known_value(each)) for each in inputs]
    given = [each if value is None else value for each, value in values]
    masks = {name: op.get_attr(name) for name in _MASKS}
    return [O.StridedSliceGrad(*given, g, **masks), None, None, None]


def _slice_grad(shape: Any, begin: Any, end: Any, strides: Any, dy: Any, **masks: Any) -> Any:
    result = np.zeros(tuple(shape), dy.dtype)
    result[_keys(begin, end, strides, masks)] = dy
    return result


op(f"StridedSlice(input: T, {_LIMITS}; {_OPTIONS}) -> output: T", _sliced,
   lambda x, begin, end, strides, **masks: np.array(x[_keys(begin, end, strides, masks)]),
   _slice_gradient)  # fmt: skip
op(f"StridedSliceGrad(shape: Index, {_LIMITS}, dy: T; {_OPTIONS}) -> output: T",
   lambda i: known_shape(i.inputs[0]), _slice_grad)  # fmt: skip


# -- Slice: a box


def _box_shape(i: Inference) -> TensorShape:
    size, dims = known_value(i.inputs[2]), i.shape(0).dims
    if size is None or dims is None or -1 not in size:
        return known_shape(i.inputs[2])
    begin = known_value(i.inputs[1])
    rest = [None if begin is None else d if not b else d - int(b) if known(d) else None  # type: ignore[operator]
            for d, b in zip(dims, size if begin is None else begin, strict=True)]  # fmt: skip
    return TensorShape([r if s == -1 else s for s, r in zip(size, rest, strict=True)])


def _box(x: Any, begin: Any, size: Any) -> Any:
    keys = []
    for first, count, whole in zip(begin, size, x.shape, strict=True):
        last = whole if count == -1 else int(first) + int(count)
        if not 0 <= first <= last <= whole:
            raise invalid(f"Expected size in [0, {whole - int(first)}], but got {int(count)}")
        keys.append(slice(int(first), last))
    return x[tuple(keys)].copy()


op("Slice(input: T, begin: Index, size: Index) -> output: T", _box_shape, _box)


# -- gathering


def check(indices: Any, limit: int) -> None:
    """Raises InvalidArgumentError for an index that is out of bounds."""
    bad = np.argwhere((indices < 0) | (indices >= limit))
    if len(bad):
        where = ",".join(map(str, bad[0]))
        value = indices[tuple(bad[0])]
        raise invalid(f"indices{f'[{where}]' * bool(where)} = {value} is not in [0, {limit})")


def _gathered(i: Inference) -> TensorShape:
    axis, params, indices = known_int(i.inputs[2]), i.shape(0), i.shape(1)
    if axis is None or params.rank is None or indices.rank is None:
        return UNKNOWN
    at = axis % params.rank
    return params[:at] + indices + params[at + 1 :]  # type: ignore[no-any-return]


def _gather(params: Any, indices: Any, axis: Any) -> Any:
    check(indices, params.shape[int(axis)])
    return np.take(params, indices, axis=int(axis))


def _gather_gradient(op: Any, g: Any) -> list[Any]:
    params, indices, axis = op.inputs
    if known_int(axis) != 0:
        raise NotInThisRuntime("the gradient of tf.gather along another axis than the first")
    shape = arrays.cast(arrays.shape(params, int64), int32)
    count = arrays.cast(O.ExpandDims(arrays.size(indices), 0), int32)
    tail = (arrays.identity(shape) if executing_eagerly() else shape)[1:]
    values = arrays.reshape(dense(g), arrays.concat([count, tail], 0))
    return [IndexedSlices(values, arrays.reshape(indices, count), shape), None, None]


op("GatherV2(params: Tparams, indices: Tindices, axis: Taxis; Taxis=int32) -> "
   "output: Tparams", _gathered, _gather, _gather_gradient)  # fmt: skip

# -- scattering


def _segments(data: Any, ids: Any, count: Any) -> Any:
    result = np.zeros((int(count), *data.shape[ids.ndim :]), data.dtype)
    kept = ids.ravel() >= 0
    np.add.at(result, ids.ravel()[kept], data.reshape(-1, *data.shape[ids.ndim :])[kept])
    return result


def _segmented(i: Inference) -> TensorShape:
    count, ids = known_int(i.inputs[2]), i.shape(1).rank
    if i.shape(0).rank is None or ids is None:
        return UNKNOWN
    return TensorShape([count]).concatenate(i.shape(0)[ids:])


op("UnsortedSegmentSum(data: T, segment_ids: Tindices, num_segments: Tnum; Tnum=int32) -> "
   "output: T", _segmented, _segments,
   lambda op, g: [gather(g, op.inputs[1]), None, None])  # fmt: skip


def _stitch(*inputs: Any) -> Any:
    half = len(inputs) // 2
    indices, data = inputs[:half], inputs[half:]
    size = max(int(np.max(each, initial=-1)) for each in indices) + 1
    result = np.zeros((size, *data[0].shape[indices[0].ndim :]), data[0].dtype)
    for places, values in zip(indices, data, strict=True):
        result[places] = values
    return result


op("DynamicStitch(indices: N*int32, data: N*T) -> merged: T",
   lambda i: TensorShape([None]).concatenate(i.inputs[-1].shape[1:]), _stitch)  # fmt: skip


def _unique(x: Any, out_idx: Any) -> Any:
    _, first, inverse = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return x[np.sort(first)], np.argsort(order)[inverse].astype(out_idx.as_numpy_dtype)


op("Unique(x: T; out_idx=int32) -> y: T, idx: out_idx",
   lambda i: [TensorShape([None]), i.shape(0)], _unique)  # fmt: skip
