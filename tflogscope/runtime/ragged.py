"""`RaggedTensor`: rows of different lengths, as one tensor of values and where each row begins.

What is here: making them, taking them apart and making them dense. Ops on them are not: what needs
a tensor refuses them.

Told about: `python/ops/ragged/ragged_tensor.py`, `ragged_factory_ops.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.library import arrays, elementary, reductions
from tflogscope.runtime.library.joining import concat
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import EagerTensor, Tensor

__all__ = ["RaggedTensor", "constant"]


class RaggedTensor:
    """`values` (a tensor, or ragged itself) cut into rows at `row_splits`."""

    def __init__(self, values: Any, row_splits: Any) -> None:
        self.values, self.row_splits = values, row_splits

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Row `i` is `values[row_splits[i]:row_splits[i + 1]]`."""
        del name, validate
        return cls(_values(values), convert_to_tensor(row_splits, dtypes.int64))

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows of these lengths."""
        del name, validate
        lengths = elementary.cast(convert_to_tensor(row_lengths), dtypes.int64)
        ends = reductions.cumsum(lengths)
        return cls(_values(values), concat([np.zeros(1, np.int64), ends], axis=0))

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Each value in the row of that number. Told about: `from_value_rowids` of
        `python/ops/ragged/row_partition.py`.
        """
        del name, validate
        rows = convert_to_tensor(value_rowids, dtypes.int64)
        count: Any = reductions.reduce_max(rows) + 1 if nrows is None else nrows
        numbers, size = elementary.cast(rows, dtypes.int32), elementary.cast(count, dtypes.int32)
        lengths = reductions.bincount(numbers, minlength=size, maxlength=size, dtype=rows.dtype)
        return cls.from_row_lengths(values, lengths)

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def flat_values(self) -> Any:
        """The innermost values."""
        return self.values.flat_values if isinstance(self.values, RaggedTensor) else self.values

    @property
    def ragged_rank(self) -> int:
        """How many dimensions, after the first, have rows of different lengths."""
        return 1 + (self.values.ragged_rank if isinstance(self.values, RaggedTensor) else 0)

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row splits of all levels, the outermost first."""
        inner = self.values.nested_row_splits if isinstance(self.values, RaggedTensor) else ()
        return (self.row_splits, *inner)

    @property
    def shape(self) -> TensorShape:
        """The shape; None for the lengths of rows."""
        splits = self.row_splits.shape[0]
        return TensorShape([None if splits is None else splits - 1, None, *self.values.shape[1:]])

    def nrows(self) -> Any:
        """How many rows there are."""
        return arrays.shape(self.row_splits, out_type=dtypes.int64)[0] - 1

    def row_lengths(self) -> Any:
        """The length of each row."""
        return self.row_splits[1:] - self.row_splits[:-1]

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: Any = None
    ) -> Tensor:
        """As a tensor, short rows filled up."""
        flat, splits = self.flat_values, self.nested_row_splits
        empty = flat.dtype.as_numpy_dtype() if flat.dtype is not dtypes.string else ""
        wanted = TensorShape(shape).as_list() if shape is not None else [-1] * (len(splits) + 1)
        return call(
            "RaggedTensorToTensor",
            np.array([-1 if dim is None else dim for dim in wanted], np.int64),
            flat,
            empty if default_value is None else default_value,
            list(splits),
            row_partition_types=["ROW_SPLITS"] * len(splits),
            name=name,
        )

    def to_list(self) -> list[Any]:
        """Lists of Python values."""
        rows = self.values.to_list() if isinstance(self.values, RaggedTensor) else None
        values: Any = self.values.numpy().tolist() if rows is None else rows
        cuts = self.row_splits.numpy().tolist()
        return [values[start:end] for start, end in itertools.pairwise(cuts)]

    def numpy(self) -> Any:
        """An array of arrays; one array if all rows have the same length."""
        rows = [np.array(each, self.dtype.as_numpy_dtype) for each in self.to_list()]
        if len({len(each) for each in rows}) <= 1:
            return np.array(rows)
        result = np.empty(len(rows), object)
        result[:] = rows
        return result

    def __getitem__(self, key: Any) -> Any:
        """A row, or a range of rows."""
        if isinstance(key, slice) and key.step in (None, 1):
            count = self.row_splits.shape[0] - 1
            start, end, _ = key.indices(count)
            splits = self.row_splits[start : end + 1]
            return RaggedTensor(self.values[splits[0] : splits[-1]], splits - splits[0])
        if isinstance(key, (int, Tensor)):
            splits = self.row_splits[:-1], self.row_splits[1:]
            return self.values[splits[0][key] : splits[1][key]]
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], int):
            return self[key[0]][key[1]]
        raise NotImplementedError(f"RaggedTensor[{key!r}] is not part of this small runtime")

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(int(self.row_splits.shape[0]) - 1))

    def _refuse(self, *_: Any, **__: Any) -> Any:
        """Raises NotInThisRuntime."""
        raise NotInThisRuntime("An op on a RaggedTensor")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __array__ = _refuse

    def __repr__(self) -> str:
        if isinstance(self.row_splits, EagerTensor):
            return f"<tf.RaggedTensor {self.to_list()}>"
        return f"tf.RaggedTensor(values={self.values}, row_splits={self.row_splits})"


def _values(values: Any) -> Any:
    return values if isinstance(values, RaggedTensor) else convert_to_tensor(values, name="values")


def constant(
    pylist: Sequence[Any], dtype: Any = None, name: str | None = None, **_: Any
) -> RaggedTensor | Tensor:
    """Lists in lists as a ragged tensor; values of one depth."""
    del name
    if not any(isinstance(each, (list, tuple)) for each in pylist):
        values: Tensor = convert_to_tensor(list(pylist), dtype)
        return values
    inner = [item for row in pylist for item in row]
    lengths = np.array([len(row) for row in pylist], np.int64)
    return RaggedTensor.from_row_lengths(constant(inner, dtype), lengths)
