"""From arrays to batches, and from batches to epochs.

Arrays become a dataset of indices that are shuffled, and a batch is gathered for each slice of
them; each epoch asks for a new iterator over it.

Told about: `keras/src/trainers/data_adapters/`, `epoch_iterator.py`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.data.dataset import Dataset
from tflogscope.runtime.errors import NotInThisRuntime, OutOfRangeError
from tflogscope.runtime.keras.backend import floatx
from tflogscope.runtime.keras.models.batching import batches_of_indices, gathered
from tflogscope.runtime.keras.models.data_adapter import (
    different_lengths,
    with_class_weights,
)
from tflogscope.runtime.keras.models.packing import lists_to_tuples, pack, unpack

__all__ = ["EpochIterator", "class_weights_to_sample_weights", "pack", "unpack"]


class _Arrays:
    """Batches of arrays that are there as a whole."""

    def __init__(
        self, x: Any, y: Any, weights: Any, batch_size: Any, steps: Any, shuffle: Any
    ) -> None:
        """Raises ValueError if lengths differ, NotInThisRuntime for other data than arrays."""
        inputs = pack(x, y, weights)
        leaves = [each for each in tf.nest.flatten(inputs) if each is not None]
        for each in leaves:
            if not isinstance(each, (np.ndarray, tf.Tensor)):
                raise NotInThisRuntime(f"data of type {type(each).__name__} in fit and its kin")
        lengths = {int(each.shape[0]) for each in leaves}
        if len(lengths) > 1:
            raise ValueError(different_lengths(x, y, weights))
        if shuffle == "batch":
            raise NotInThisRuntime('shuffle="batch"')
        self._inputs, self._length, self._shuffle = inputs, lengths.pop(), bool(shuffle)
        self._batch_size = batch_size or (math.ceil(self._length / steps) if steps else 32)

    def size(self) -> int | None:
        """How many batches there are."""
        return math.ceil(self._length / self._batch_size)

    def dataset(self) -> Dataset:
        """The batches."""
        indices = batches_of_indices(
            Dataset.range(1), self._length, self._batch_size, shuffled=self._shuffle
        )
        inputs = lists_to_tuples(tf.nest.map_structure(_in_default_float, self._inputs))
        return gathered(indices, inputs, shuffled=self._shuffle)


def _in_default_float(value: Any) -> Any:
    floats = isinstance(value, np.ndarray) and issubclass(value.dtype.type, np.floating)
    return value.astype(floatx()) if floats and value.dtype != floatx() else value


class _Dataset:
    """A dataset that gives batches itself."""

    def __init__(self, dataset: Dataset, class_weight: Any) -> None:
        if class_weight is not None:
            dataset = dataset.map(with_class_weights(class_weight)).prefetch(-1)
        self._dataset = dataset

    def size(self) -> int | None:
        """How many batches there are, None if that isn't known. NB: asked each time, with an op."""
        number = int(self._dataset.cardinality())
        return None if number < 0 else number

    def dataset(self) -> Dataset:
        """The batches."""
        return self._dataset


class EpochIterator:
    """Iterates over the steps of one epoch, again and again."""

    def __init__(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        batch_size: int | None = None,
        steps_per_epoch: int | None = None,
        shuffle: Any = False,
        class_weight: Any = None,
        steps_per_execution: int = 1,
    ) -> None:
        self._at_once = steps_per_execution
        if isinstance(x, Dataset):
            self._adapter: Any = _Dataset(x, class_weight)
        else:
            if class_weight is not None:
                sample_weight = class_weights_to_sample_weights(y, class_weight)
            self._adapter = _Arrays(x, y, sample_weight, batch_size, steps_per_epoch, shuffle)
        self.steps_per_epoch = steps_per_epoch
        self._size = self._adapter.size()
        self._dataset = self._adapter.dataset()
        self._iterator: Any = None
        self._seen = 0

    @property
    def num_batches(self) -> int | None:
        """How many steps an epoch has, if that is known."""
        return self.steps_per_epoch or self._size

    def reset(self) -> None:
        """Start over."""
        self._iterator, self._seen = None, 0
        self._size = self._adapter.size()

    def steps(self) -> Iterator[tuple[int, int, Any]]:
        """The steps of an epoch (the first and the last of those that are done at once), with the
        iterator to take the batches from.

        NB: at the end of the data a new iterator is made at once, for an epoch that may never come.
        """
        total, more = self.steps_per_epoch or self._size, self._at_once - 1
        if not total:
            iterator, step = iter(self._dataset), 0
            while True:
                self._seen = step + self._at_once
                yield step, step + more, iterator
                step += self._at_once
        if self._iterator is None or self.steps_per_epoch is None:
            self._iterator, self._seen = iter(self._dataset), 0
        for step in range(0, total, self._at_once):
            if self._size and self._seen >= self._size:
                if self.steps_per_epoch:
                    self._warn()
                break
            self._seen += self._at_once
            yield step, step + more, self._iterator
        if self._size and self._seen >= self._size:
            self._iterator, self._seen = iter(self._dataset), 0

    @contextmanager
    def catch_stop_iteration(self) -> Iterator[None]:
        """The end of the data ends the epoch."""
        try:
            yield
        except (StopIteration, OutOfRangeError):
            if self._size is None:
                self._size = self._seen
            self._warn()
            self._iterator = None

    def _warn(self) -> None:
        warnings.warn(
            "Your input ran out of data; interrupting training. Make sure that your dataset or "
            "generator can generate at least `steps_per_epoch * epochs` batches. You may need to "
            "use the `.repeat()` function when building your dataset.",
            stacklevel=2,
        )


def class_weights_to_sample_weights(y: Any, class_weight: dict[int, float]) -> Any:
    """The weight of each example: that of its class."""
    weights = np.ones(shape=(y.shape[0],))
    classes = np.asarray(y)
    if classes.ndim > 1:
        one_hot = classes.shape[-1] != 1
        classes = np.argmax(classes, axis=-1) if one_hot else np.squeeze(classes, axis=-1)
    classes = np.round(classes).astype("int32")
    for index, each in enumerate(classes):
        weights[index] = class_weight.get(int(each), 1.0)
    return weights
