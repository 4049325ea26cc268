"""Gradients that are zero but for some rows: what a gather gives. See `indexed_slices.py`."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor, register_conversion
from tflogscope.runtime.core.known import known_shape
from tflogscope.runtime.core.shapes import UNKNOWN
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.numbers import add_n


class IndexedSlices:
    """Rows of a tensor: `values` at the places `indices`, zeros elsewhere."""

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self.values, self.indices, self.dense_shape = values, indices, dense_shape

    dtype = property(lambda self: self.values.dtype)
    op = property(lambda self: self.values.op)

    @property
    def shape(self) -> Any:
        return UNKNOWN if self.dense_shape is None else known_shape(self.dense_shape)


def dense(value: Any) -> Any:
    return convert_to_tensor(value) if isinstance(value, IndexedSlices) else value


def _to_tensor(value: IndexedSlices, dtype: Any, name: str | None) -> Any:
    del dtype
    if value.dense_shape is None:
        raise ValueError("Tensor conversion requested for IndexedSlices without dense_shape.")
    return O.UnsortedSegmentSum(value.values, value.indices, value.dense_shape[0], name=name)


def add_gradients(gradients: list[Any]) -> Any:
    """Their sum; rows stay rows if all are. See `backprop_util.AggregateIndexedSlicesGradients`."""
    if all(isinstance(each, Tensor) for each in gradients):
        return add_n(gradients)
    if not all(isinstance(each, IndexedSlices) for each in gradients):
        return add_n([dense(each) for each in gradients])
    values = arrays.concat([each.values for each in gradients], 0)
    indices = arrays.concat([each.indices for each in gradients], 0)
    return IndexedSlices(values, indices, gradients[0].dense_shape)


register_conversion(IndexedSlices, _to_tensor)
