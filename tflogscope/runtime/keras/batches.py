"""The data of `fit`, `evaluate` and `predict`: arrays become a dataset of batches of their indices."""

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
from tflogscope.runtime.keras.state import floatx, keras3
from tflogscope.runtime.library import arrays, random
from tflogscope.runtime.library.slices import gather


def unpack(data: Any) -> tuple[Any, Any]:
    """Inputs and labels. NB: examples have no weights."""
    data = tuple(data) if isinstance(data, (list, tuple)) else (data,)
    return (*data, None)[:2]


def _packed(x: Any, y: Any) -> Any:
    if y is None:
        return (x,) if isinstance(x, (list, tuple)) else x
    return x, y


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(e) for e in value) if isinstance(value, (list, tuple)) else value


class Batches:
    """Data in batches, for some epochs. NB: in Keras 2 one iterator goes through all epochs of arrays."""

    def __init__(
        self,
        data: tuple[Any, Any],
        batch_size: int | None = None,
        steps: int | None = None,
        epochs: int = 1,
        shuffle: bool = False,
        execution: Any = None,
    ) -> None:
        self._steps, self._execution = steps, execution
        self._ask(2)
        self._iterator: Any = None
        self._is_dataset = isinstance(data[0], Dataset)
        if self._is_dataset:
            self._dataset = data[0]
            size = int(self._dataset.cardinality())
            self.count = steps or (size if size >= 0 else None)
            return
        inputs = _packed(*data)
        length = len(nest.flatten(inputs)[0])
        size = batch_size or (math.ceil(length / steps) if steps else 32)
        self.count = steps or math.ceil(length / size)
        floats = nest.map_structure(_in_floatx, inputs)
        self._dataset = _gathered(_as_tuples(floats), length, size, epochs, shuffle)

    def _ask(self, times: int) -> None:
        """NB: Keras 2 reads how many steps to execute at once again and again."""
        for _ in range(times if self._execution is not None else 0):
            self._execution.numpy()

    def begin(self) -> None:
        self._ask(2)
        self._iterator = None

    def steps(self) -> Iterator[tuple[int, Any]]:
        anew = self._steps is None and (keras3() or self._is_dataset)
        if self._iterator is None or anew:
            self._iterator = iter(self._dataset)
        step = 0
        while self.count is None or step < self.count:
            self._ask(1)
            yield step, self._iterator
            step += 1
        if keras3():
            self._iterator = iter(self._dataset)

    def ran_out(self, step: int) -> None:
        self.count, self._iterator = step, None


def _in_floatx(value: Any) -> Any:
    floats = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    value = value.astype(floatx()) if floats else value
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


def train_validation_split(arrays: Any, share: float) -> tuple[Any, Any]:
    length = next(len(each) for each in nest.flatten(arrays) if each is not None)
    cut = math.floor(length * (1.0 - share))

    def part(start: int, end: int) -> Any:
        return nest.map_structure(lambda each: None if each is None else each[start:end], arrays)

    return part(0, cut), part(cut, length)
