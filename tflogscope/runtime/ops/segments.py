"""Reductions over segments, named by an index per slice: SegmentSum, UnsortedSegmentSum and others.

Told about: `core/kernels/segment_reduction_ops_impl.h`, `python/ops/math_grad.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime import dtypes
from tflogscope.runtime.constant_value import folded_value
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.arithmetic import divide
from tflogscope.runtime.library.elementary import cast
from tflogscope.runtime.library.joining import concat
from tflogscope.runtime.library.slicing import gather
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import UNKNOWN, TensorShape, dims_text

Array = NDArray[Any]


def _limit(dtype: Any, *, highest: bool) -> Any:
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return limits.max if highest else limits.min


_KINDS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "Sum": (np.add, lambda _: 0),
    "Prod": (np.multiply, lambda _: 1),
    "Max": (np.maximum, lambda dtype: _limit(dtype, highest=False)),
    "Min": (np.minimum, lambda dtype: _limit(dtype, highest=True)),
}


def _segment_shape(i: Inference) -> TensorShape:
    return UNKNOWN if i.shape(0).rank is None else TensorShape([None]).concatenate(i.shape(0)[1:])


def _check_sorted(segment_ids: Array) -> int:
    if segment_ids.size and (np.any(np.diff(segment_ids) < 0) or segment_ids[0] < 0):
        raise InvalidArgumentError(None, None, "segment ids are not increasing")
    return int(segment_ids[-1]) + 1 if segment_ids.size else 0


def _segment(function: Any) -> Callable[..., Array]:
    def kernel(data: Array, segment_ids: Array) -> Array:
        if segment_ids.ndim == 1 and data.shape[:1] != segment_ids.shape:
            text = "segment_ids should be the same size as dimension 0 of input."
            raise InvalidArgumentError(None, None, text)
        number = _check_sorted(segment_ids)
        neutral = 1 if function is np.multiply else 0
        result = np.full((number, *data.shape[1:]), neutral, data.dtype)
        if function in (np.maximum, np.minimum):
            first = np.searchsorted(segment_ids, np.arange(number))
            present = np.isin(np.arange(number), segment_ids)
            result[present] = data[first[present]]
        function.at(result, segment_ids, data)
        return result

    return kernel


for _kind, (_function, _) in _KINDS.items():
    op(
        f"Segment{_kind}(data: T, segment_ids: Tindices; T in number, Tindices in index) -> "
        "output: T",
        shape=_segment_shape,
    )(_segment(_function))


@op(
    "SegmentMean(data: T, segment_ids: Tindices; T in number, Tindices in index) -> output: T",
    shape=_segment_shape,
)
def _segment_mean(data: Array, segment_ids: Array) -> Array:
    number = _check_sorted(segment_ids)
    counts = np.maximum(np.bincount(segment_ids, minlength=number), 1).reshape(
        (-1,) + (1,) * (data.ndim - 1)
    )
    return np.asarray(_segment(np.add)(data, segment_ids) / counts, data.dtype)


@gradient("SegmentSum")
def _segment_sum_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [gather(grad, record.inputs[1]), None]


@gradient("SegmentMean")
def _segment_mean_gradient(record: OpRecord, grad: Any) -> list[Any]:
    data, ids = record.inputs
    rank = arrays.rank(data)
    ids_shape = arrays.shape(ids)
    shape = concat([ids_shape, arrays.ones(arrays.expand_dims(rank - 1, 0), dtypes.int32)], 0)
    counts = call("SegmentSum", arrays.ones(shape, grad.dtype), ids)
    return [gather(divide(grad, counts), ids), None]


def _unsorted_shape(i: Inference) -> TensorShape:
    data, ids, number = i.shape(0), i.shape(1), folded_value(i.inputs[2])
    if data.rank is None or ids.rank is None:
        return UNKNOWN
    for one, other in zip(data.as_list(), ids.as_list(), strict=False):
        if None not in (one, other) and one != other:
            raise ValueError(f"Dimensions must be equal, but are {one} and {other}")
    return TensorShape([None if number is None else int(number)]).concatenate(data[ids.rank :])


def _unsorted(function: Any, neutral: Callable[[Any], Any]) -> Callable[..., Array]:
    def kernel(data: Array, segment_ids: Array, num_segments: Array) -> Array:
        number = int(num_segments)
        if data.shape[: segment_ids.ndim] != segment_ids.shape:
            text = (
                f"data.shape = {dims_text(data.shape)} does not start with segment_ids.shape = "
                f"{dims_text(segment_ids.shape)}"
            )
            raise InvalidArgumentError(None, None, text)
        if np.any(segment_ids >= number):
            where = tuple(int(k) for k in np.argwhere(segment_ids >= number)[0])
            raise InvalidArgumentError(
                None,
                None,
                f"segment_ids{list(where)} = {segment_ids[where]} is out of range [0, {number})",
            )
        rest = data.shape[segment_ids.ndim :]
        result = np.full((number, *rest), neutral(data.dtype), data.dtype)
        kept = segment_ids >= 0  # negative ones are dropped
        function.at(result, segment_ids[kept], data[kept])
        return result

    return kernel


for _kind, (_function, _neutral) in _KINDS.items():
    op(
        f"UnsortedSegment{_kind}(data: T, segment_ids: Tindices, num_segments: Tnumsegments; T in "
        "number, Tindices in int16 int32 int64, Tnumsegments=int32) -> output: T",
        shape=_unsorted_shape,
    )(_unsorted(_function, _neutral))


def _gathered(params: Any, clipped: Any, kept: Any) -> Any:
    """Each slice's segment; zeros for slices that were dropped."""
    gathered = gather(params, clipped)
    if callable(kept):
        kept = kept(gathered)
    zeros = arrays.zeros_like(gathered)
    return call("SelectV2", kept, gathered, zeros), kept


def _with_segment(ids: Any) -> Callable[[Any], Any]:
    """Which slices are in a segment: those with ids from 0, in the shape of what was gathered."""

    def kept(gathered: Any) -> Any:
        positive = call("GreaterEqual", ids, 0)
        shape = arrays.shape(positive)
        ones = arrays.ones([arrays.rank(gathered) - arrays.rank(positive)], shape.dtype)
        positive = arrays.reshape(positive, concat([shape, ones], axis=0))
        return positive & arrays.ones_like(gathered, dtypes.bool_)

    return kept


@gradient("SegmentProd")
def _product_gradient(record: OpRecord, grad: Any) -> list[Any]:
    """The product of the others in the segment. With two zeros in it nothing changes; with one,
    only what is zero counts.
    """
    data, ids = record.inputs
    is_zero = call("Equal", data, 0)
    zeros = call("SegmentSum", cast(is_zero, dtypes.int32), ids)
    grad = call("SelectV2", call("Greater", zeros, 1), arrays.zeros_like(grad), grad)
    without = call("SelectV2", is_zero, arrays.ones_like(data), data)
    product = call("SegmentProd", without, ids)
    of_all = gather(record.outputs[0], ids)
    others = call("SelectV2", is_zero, gather(product, ids), of_all / without)
    return [gather(grad, ids) * others, None]


@gradient("UnsortedSegmentSum")
def _unsorted_segment_sum_gradient(record: OpRecord, grad: Any) -> list[Any]:
    ids = record.inputs[1]
    clipped = call("Maximum", ids, arrays.zeros_like(ids))
    return [_gathered(grad, clipped, _with_segment(ids))[0], None, None]


@gradient("UnsortedSegmentMax")
@gradient("UnsortedSegmentMin")
def _unsorted_extreme_gradient(record: OpRecord, grad: Any) -> list[Any]:
    """To the largest of each segment, in equal parts if there are several."""
    data, ids, count = record.inputs
    clipped = call("Maximum", ids, arrays.zeros_like(ids))
    largest, kept = _gathered(record.outputs[0], clipped, _with_segment(ids))
    chosen = call("LogicalAnd", call("Equal", data, largest), kept)
    number = call("UnsortedSegmentSum", cast(chosen, grad.dtype), ids, count)
    shared, _ = _gathered(divide(grad, number), clipped, kept)
    return [call("SelectV2", chosen, shared, arrays.zeros_like(shared)), None, None]


@gradient("SegmentMax")
@gradient("SegmentMin")
def _extreme_gradient(record: OpRecord, grad: Any) -> list[Any]:
    data, ids = record.inputs
    zeros = arrays.zeros_like(data)
    chosen = call("Equal", data, gather(record.outputs[0], ids))
    number = call("SegmentSum", cast(chosen, grad.dtype), ids)
    return [call("SelectV2", chosen, gather(divide(grad, number), ids), zeros), None]
