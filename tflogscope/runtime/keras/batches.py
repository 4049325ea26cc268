"""The data of `fit`, `evaluate` and `predict`: arrays become a dataset of batches of their indices. See
`keras/engine/data_adapter.py` (`TensorLikeDataAdapter`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tflogscope.runtime.core import nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import int64
from tflogscope.runtime.data.dataset import Dataset
from tflogscope.runtime.keras.state import keras3
from tflogscope.runtime.library import arrays, random
from tflogscope.runtime.library.slices import gather


def unpack(data: Any) -> tuple[Any, Any]:
    """Inputs and labels. NB: examples have no weights."""
    data = tuple(data) if isinstance(data, (list, tuple)) else (data,)
    return (*data, None)[:2]


class Batches:
    """Data in batches, for some epochs. NB: in Keras 2 one iterator goes through all epochs of arrays."""

    def __init__(
        self, x: Any, y: Any, size: int | None, epochs: int = 1, shuffle: bool = False
    ) -> None:
        self._iterator: Any = None
        self._count: int | None = None
        self._is_dataset = isinstance(x, Dataset)
        if self._is_dataset:
            cardinality = int(x.cardinality())
            self._dataset, self._count = x, cardinality if cardinality >= 0 else None
            return
        inputs = (x, y) if y is not None else (x,) if isinstance(x, (list, tuple)) else x
        inputs = _as_tuples(inputs)
        length, size = len(nest.flatten(inputs)[0]), size or 32
        self._count = math.ceil(length / size)
        self._dataset = _gathered(
            nest.map_structure(_in_floatx, inputs), length, size, epochs, shuffle
        )

    def begin(self) -> None:
        self._iterator = None

    def steps(self) -> Iterator[tuple[int, Any]]:
        """The numbers of the steps of an epoch, and the iterator."""
        if self._iterator is None or keras3() or self._is_dataset:
            self._iterator = iter(self._dataset)
        step = 0
        while self._count is None or step < self._count:
            yield step, self._iterator
            step += 1
        if keras3():
            self._iterator = iter(self._dataset)

    def ran_out(self, step: int) -> None:
        self._count, self._iterator = step, None


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, (list, tuple)) else value


def _in_floatx(value: Any) -> Any:
    floats = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    value = value.astype("float32") if floats else value
    return value if keras3() else convert_to_tensor(value)


def _gathered(inputs: Any, length: int, size: int, epochs: int, shuffled: bool) -> Dataset:
    whole, rest = divmod(length, size)

    def permutation(_: Any) -> Any:
        indices = arrays.range_(length, dtype=int64)
        return random.shuffle(indices) if shuffled else indices

    def slice_batch_indices(indices: Any) -> Dataset:
        first = arrays.reshape(O.Slice(indices, [0], [whole * size]), [whole, size])
        batches = Dataset.from_tensor_slices(first)
        if rest:
            last = Dataset.from_tensors(O.Slice(indices, [whole * size], [rest]))
            batches = batches.concatenate(last)
        return batches

    def grab_batch(i: Any, data: Any) -> Any:
        return nest.map_structure(lambda each: gather(each, i, axis=0), data)

    numbers = Dataset.range(1)
    if not keras3():
        numbers = numbers.repeat(epochs)
    indices = numbers.map(permutation).prefetch(1).flat_map(slice_batch_indices)
    dataset = Dataset.zip((indices, Dataset.from_tensors(inputs).repeat()))
    dataset = dataset.map(grab_batch, num_parallel_calls=-1)
    return dataset.with_options().with_options().prefetch(-1)
