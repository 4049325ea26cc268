"""Sums and means of groups: `tf.math.unsorted_segment_mean`, `tf.math.confusion_matrix`.

Told about: `python/ops/math_ops.py`, `python/ops/confusion_matrix.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import int32, int64
from tflogscope.runtime.library import (
    arithmetic,
    arrays,
    comparison,
    debugging,
    elementary,
    grouping,
    reductions,
)
from tflogscope.runtime.library.joining import concat, stack
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.tensors import Tensor


def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The mean of each segment; 0 where it is empty."""
    with op_scope(name, "UnsortedSegmentMean"):
        data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        sizes = _sizes(data, segment_ids, num_segments)
        return reductions.unsorted_segment_sum(data, segment_ids, num_segments) / sizes  # type: ignore[no-any-return]


def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sum of each segment, divided by the root of its size."""
    with op_scope(name, "UnsortedSegmentSqrtN"):
        data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        sizes = _sizes(data, segment_ids, num_segments)
        summed = reductions.unsorted_segment_sum(data, segment_ids, num_segments)
        return summed / elementary.sqrt(sizes)  # type: ignore[no-any-return]


def _sizes(data: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """How many slices each segment has, at least 1, in a shape that fits the sums."""
    count: Any = convert_to_tensor(num_segments)
    ones = arrays.ones(arrays.shape_internal(segment_ids), dtype=data.dtype)
    sizes = reductions.unsorted_segment_sum(ones, segment_ids, count)
    first = count[np.newaxis]
    further = arrays.ones([arrays.rank(data) - arrays.rank(segment_ids)], count.dtype)
    shape = concat([first, further], axis=0)
    result: Tensor = arithmetic.maximum(arrays.reshape(sizes, shape), 1)
    return result


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """How many values fall between equally distant limits."""
    with op_scope(name, "histogram_fixed_width") as name:
        return call("HistogramFixedWidth", values, value_range, nbins, dtype=dtype, name=name)


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """The number of the bin for each value; the first and the last take what is outside."""
    del dtype
    with op_scope(name, "histogram_fixed_width_bins"):
        values = convert_to_tensor(values, name="values")
        shape = arrays.shape(values)
        flat: Any = arrays.reshape(values, [-1])
        limits: Any = convert_to_tensor(value_range, name="value_range")
        count = convert_to_tensor(nbins, int32, name="nbins")
        check = debugging.Assert(comparison.greater(count, 0), [f"nbins {count} must > 0"])
        bins: Any = elementary.cast(_after(check, count), values.dtype)
        above, width = flat - limits[0], limits[1] - limits[0]
        share = arithmetic.truediv(above, width, name="scaled_values")
        places = elementary.floor(bins * share, name="indices")
        places = arithmetic.clip_by_value(places, 0, bins - 1)
        return arrays.reshape(elementary.cast(places, int32), shape)


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    weights: Any = None,
    dtype: Any = int32,
    name: str | None = None,
) -> Tensor:
    """How often each class (row) was taken for each (column). Raises InvalidArgumentError for
    negative classes and for those from `num_classes` on.
    """
    with op_scope(name, "confusion_matrix"):
        predictions = elementary.cast(convert_to_tensor(predictions, name="predictions"), int64)
        labels = elementary.cast(convert_to_tensor(labels, name="labels"), int64)
        labels, predictions = (
            _after(debugging.assert_non_negative(each, f"`{what}` contains negative values"), each)
            for what, each in (("labels", labels), ("predictions", predictions))
        )
        if num_classes is None:
            largest: Any = arithmetic.maximum(
                reductions.reduce_max(predictions), reductions.reduce_max(labels)
            )
            num_classes = largest + 1
        else:
            limit = elementary.cast(num_classes, int64)
            labels, predictions = (
                _after(debugging.assert_less(each, limit, f"`{what}` out of bound"), each)
                for what, each in (("labels", labels), ("predictions", predictions))
            )
        weights = None if weights is None else elementary.cast(weights, dtype)
        shape = stack([num_classes, num_classes])
        indices = stack([labels, predictions], axis=1)
        values = arrays.ones_like(predictions, dtype) if weights is None else weights
        return call("ScatterNd", indices, values, elementary.cast(shape, int64))


def _after(check: Any, tensor: Tensor) -> Tensor:
    """The tensor, once the check has been made."""
    return tensor if check is None else grouping.with_dependencies([check], tensor)
