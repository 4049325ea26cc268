"""Elements by their values: Unique, ListDiff, DynamicPartition, DynamicStitch.

Told about: `core/ops/array_ops.cc`, `core/ops/data_flow_ops.cc`, `python/ops/data_flow_grad.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import folded_value
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient, not_differentiable
from tflogscope.runtime.library import arrays, reductions
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call, results
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import UNKNOWN, TensorShape

Array = NDArray[Any]


def _refuse(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


def _unique_shape(i: Inference) -> list[TensorShape]:
    vector = TensorShape([None])
    i.shape_of_rank(0, 1)
    return [vector, i.shape(0), vector][: 3 if i.op == "UniqueWithCounts" else 2]


def _uniques(x: Array, out_idx: DType) -> tuple[Array, Array, Array]:
    """The different values in the order in which they come, and which one each element is."""
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first, kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    dtype = out_idx.as_numpy_dtype
    return values[order], position[inverse].astype(dtype), counts[order].astype(dtype)


@op("Unique(x: T; out_idx=int32) -> y: T, idx: out_idx", shape=_unique_shape)
def _unique(x: Array, out_idx: DType) -> tuple[Array, Array]:
    if x.ndim != 1:
        raise _refuse("unique expects a 1D vector.")
    return _uniques(x, out_idx)[:2]


@op(
    "UniqueWithCounts(x: T; out_idx=int32) -> y: T, idx: out_idx, count: out_idx",
    shape=_unique_shape,
)
def _unique_with_counts(x: Array, out_idx: DType) -> tuple[Array, Array, Array]:
    return _uniques(x, out_idx)


@op(
    "ListDiff(x: T, y: T; out_idx=int32) -> out: T, idx: out_idx",
    shape=lambda _: [TensorShape([None])] * 2,
)
def _list_diff(x: Array, y: Array, out_idx: DType) -> tuple[Array, Array]:
    kept = np.flatnonzero(~np.isin(x, y))
    return x[kept], kept.astype(out_idx.as_numpy_dtype)


not_differentiable("Unique", "UniqueWithCounts", "ListDiff")


def _partition_shape(i: Inference) -> list[TensorShape]:
    rest = (
        UNKNOWN
        if i.shape(0).rank is None or i.shape(1).rank is None
        else i.shape(0)[i.shape(1).rank :]
    )
    shape = TensorShape([None]).concatenate(rest)
    return [shape] * i.attributes["num_partitions"]


@op(
    "DynamicPartition(data: T, partitions: int32; num_partitions) -> outputs: num_partitions*T",
    shape=_partition_shape,
)
def _dynamic_partition(data: Array, partitions: Array, num_partitions: int) -> list[Array]:
    return [data[partitions == k] for k in range(num_partitions)]


@gradient("DynamicPartition")
def _dynamic_partition_gradient(record: OpRecord, *grads: Any) -> list[Any]:
    data, indices = record.inputs
    number = record.get_attr("num_partitions")
    prefix = arrays.shape(indices)
    original = arrays.reshape(arrays.range(reductions.reduce_prod(prefix)), prefix)
    parts = results("DynamicPartition", original, indices, num_partitions=number)
    reconstructed = call("ParallelDynamicStitch", parts, list(grads))
    return [arrays.reshape(reconstructed, arrays.shape(data)), None]


def _stitch_shape(i: Inference) -> TensorShape:
    number = i.attributes["N"]
    values = [folded_value(each) for each in i.inputs[:number]]
    index, data = i.shape(0), i.shape(number)
    rest = UNKNOWN if index.rank is None or data.rank is None else data[index.rank :]
    largest = None
    if all(value is not None for value in values):
        largest = (
            max(
                (int(value.max()) for value in values if value is not None and value.size),
                default=-1,
            )
            + 1
        )
    return TensorShape([largest]).concatenate(rest)


def _stitch(*inputs: Array, N: int) -> Array:
    """Each slice of the data at its index; the last one that names an index wins."""
    indices, data = inputs[:N], inputs[N:]
    size = max((int(each.max()) for each in indices if each.size), default=-1) + 1
    merged = np.zeros((size, *data[0].shape[indices[0].ndim :]), data[0].dtype)
    for where, values in zip(indices, data, strict=True):
        merged[where] = values
    return merged


op("DynamicStitch(indices: N*int32, data: N*T) -> merged: T", shape=_stitch_shape)(_stitch)
op("ParallelDynamicStitch(indices: N*int32, data: N*T) -> merged: T", shape=_stitch_shape)(_stitch)


def _stitch_gradient(record: OpRecord, grad: Any) -> list[Any]:
    from tflogscope.runtime.library.slicing import gather

    number = len(record.inputs) // 2
    return [None] * number + [gather(grad, each) for each in record.inputs[:number]]


gradient("DynamicStitch")(_stitch_gradient)
gradient("ParallelDynamicStitch")(_stitch_gradient)
