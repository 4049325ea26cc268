"""`tf.IndexedSlices`: some slices of a tensor that is zero elsewhere. The gradient of a gather is
one.

It becomes a plain tensor where one is needed, by the op UnsortedSegmentSum.

Told about: `python/framework/indexed_slices.py`, `_aggregate_grads` of
`python/eager/backprop_util.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tflogscope.runtime.conversion import register_conversion
from tflogscope.runtime.dtypes import DType, int32, int64
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import Tensor, TensorSpec

__all__ = [
    "IndexedSlices", "IndexedSlicesSpec", "add_gradients", "dense", "values_of", "with_values",
]  # fmt: skip


class IndexedSlices:
    """`values[k]` stands at `indices[k]` of the first dimension; several at one place add up."""

    __array_priority__ = 100

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    @property
    def _type_spec(self) -> IndexedSlicesSpec:
        return IndexedSlicesSpec(
            self.dtype,
            self.indices.dtype,
            self.values.shape,
            has_shape=self.dense_shape is not None,
        )

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def shape(self) -> Any:
        """What is known of the shape of the whole."""
        from tflogscope.runtime.constant_value import constant_shape
        from tflogscope.runtime.shapes import UNKNOWN

        return UNKNOWN if self.dense_shape is None else constant_shape(self.dense_shape)

    @property
    def device(self) -> str:
        """Where the values are."""
        return self.values.device

    @property
    def op(self) -> Any:
        """The node of the values, in a graph."""
        return self.values.op  # type: ignore[attr-defined]

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    def __repr__(self) -> str:
        return (
            f"IndexedSlices(indices={self.indices!s}, values={self.values!s}, "
            f"dense_shape={self.dense_shape!s})"
        )


@dataclass(frozen=True)
class IndexedSlicesSpec:
    """What kind of slices they are; they travel as their tensors."""

    dtype: DType
    indices_dtype: DType
    values_shape: TensorShape
    has_shape: bool

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        specs = (
            TensorSpec(self.values_shape, self.dtype),
            TensorSpec([None], self.indices_dtype),
            TensorSpec([None], self.indices_dtype),
        )
        return specs if self.has_shape else specs[:2]

    def _to_components(self, value: IndexedSlices) -> list[Any]:
        parts = [value.values, value.indices, value.dense_shape]
        return parts if self.has_shape else parts[:2]

    def _from_components(self, components: list[Any]) -> IndexedSlices:
        return IndexedSlices(*components)


def values_of(value: Any) -> Any:
    """The values of slices; anything else as it is."""
    return value.values if isinstance(value, IndexedSlices) else value


def with_values(value: Any, values: Tensor) -> Any:
    """Slices of other values at the same places; for anything else the values alone."""
    if not isinstance(value, IndexedSlices):
        return values
    return IndexedSlices(values, value.indices, value.dense_shape)


def dense(value: Any) -> Tensor:
    """A gradient as a plain tensor. Raises ValueError for slices of which the whole shape is not
    known.
    """
    if not isinstance(value, IndexedSlices):
        return value  # type: ignore[no-any-return]
    if value.dense_shape is None:
        raise ValueError(
            f"Tensor conversion requested for IndexedSlices without dense_shape: {value}"
        )
    from tflogscope.runtime.ops.call import call

    return call("UnsortedSegmentSum", value.values, value.indices, value.dense_shape[0])


def _to_tensor(value: IndexedSlices, dtype: DType | None, name: str | None) -> Tensor:
    from tflogscope.runtime.ops.call import call

    if dtype is not None and dtype is not value.dtype:
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype "
            f"{value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(
            f"Tensor conversion requested for IndexedSlices without dense_shape: {value}"
        )
    return call("UnsortedSegmentSum", value.values, value.indices, value.dense_shape[0], name=name)


register_conversion(IndexedSlices, _to_tensor)


def add_gradients(gradients: Sequence[Any]) -> Any:
    """The sum of several gradients of one tensor: AddN; of slices only, all their slices.

    Told about: `AggregateIndexedSlicesGradients` of `python/eager/backprop_util.py`.
    """
    from tflogscope.runtime.library.arithmetic import add_n
    from tflogscope.runtime.library.elementary import cast
    from tflogscope.runtime.library.joining import concat

    if len(gradients) == 1:
        return gradients[0]
    if any(isinstance(each, Tensor) for each in gradients):
        return add_n(list(gradients))
    slices = list(gradients)
    if any(each.indices.dtype is not int32 for each in slices):
        slices = [
            IndexedSlices(each.values, cast(each.indices, int64), each.dense_shape)
            for each in slices
        ]
    values = concat([each.values for each in slices], axis=0)
    return IndexedSlices(
        values, concat([each.indices for each in slices], axis=0), slices[0].dense_shape
    )
