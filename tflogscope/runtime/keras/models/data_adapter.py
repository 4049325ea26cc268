"""From arrays, a dataset or a generator (`generated_batches.py`) to batches: `fit(x, y)` makes a
dataset of indices (`batching.py`) and takes as many steps as there are batches.

Told about: `keras/src/engine/data_adapter.py` (`TensorLikeDataAdapter`, `DatasetAdapter`,
`DataHandler`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.data.dataset import Dataset
from tflogscope.runtime.errors import NotInThisRuntime, OutOfRangeError
from tflogscope.runtime.keras.models.batching import batches_of_indices, gathered
from tflogscope.runtime.keras.models.generated_batches import GeneratorBatches, SequenceBatches
from tflogscope.runtime.keras.models.packing import as_tensors, pack, unpack
from tflogscope.runtime.keras.utils import Sequence
from tflogscope.runtime.logs import log

__all__ = ["DataHandler", "pack", "single_batch_iterator", "train_validation_split", "unpack"]


class ArrayBatches:
    """Batches of arrays or tensors that are there as a whole."""

    recreates_iterator = False

    def __init__(
        self,
        x: Any,
        y: Any,
        sample_weight: Any,
        *,
        batch_size: int | None,
        epochs: int,
        steps: int | None,
        shuffle: bool | str,
    ) -> None:
        """Raises ValueError if lengths differ, NotInThisRuntime for `shuffle="batch"`."""
        if shuffle == "batch":
            raise NotInThisRuntime('shuffle="batch"')
        inputs = pack(*as_tensors((x, y, sample_weight)))
        lengths = {int(each.shape[0]) for each in tf.nest.flatten(inputs)}
        if len(lengths) > 1:
            raise ValueError(different_lengths(x, y, sample_weight))
        self._length = lengths.pop()
        self._batch_size = batch_size or (math.ceil(self._length / steps) if steps else 32)
        self.size: int | None = math.ceil(self._length / self._batch_size)
        indices = batches_of_indices(
            Dataset.range(1).repeat(epochs), self._length, self._batch_size, shuffled=bool(shuffle)
        )
        self.dataset = gathered(indices, inputs, shuffled=bool(shuffle))

    def on_epoch_end(self) -> None:
        """Nobody is told."""


class DatasetBatches:
    """A dataset that gives batches itself."""

    size: int | None = None

    def __init__(self, dataset: Dataset, y: Any, sample_weight: Any, *, steps: int | None) -> None:
        """Raises ValueError for labels beside the dataset, and for an endless one without a number
        of steps.
        """
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if value is not None:
                raise ValueError(f"`{name}` argument is not supported when using dataset as input.")
        if steps is None and dataset.cardinality().numpy() == -1:
            raise ValueError(
                "When providing an infinite dataset, you must specify the number of steps to run "
                "(if you did not intend to create an infinite dataset, make sure to not call "
                "`repeat()` on the dataset)."
            )
        self.dataset = dataset
        self._steps = steps

    @property
    def recreates_iterator(self) -> bool:
        """Start anew in each epoch? Not if an epoch is said to be only a part of the data."""
        return self._steps is None or self.dataset.cardinality().numpy() == self._steps

    def on_epoch_end(self) -> None:
        """Nobody is told."""


class DataHandler:
    """Steps and epochs over batches."""

    def __init__(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        batch_size: int | None = None,
        steps_per_epoch: int | None = None,
        initial_epoch: int = 0,
        epochs: int = 1,
        shuffle: bool = False,
        class_weight: dict[int, float] | None = None,
        steps_per_execution: Any,
        model: Any = None,
    ) -> None:
        self._initial_epoch, self._epochs = initial_epoch, epochs
        self._steps_per_epoch = steps_per_epoch
        self._steps_per_execution = steps_per_execution
        self._insufficient_data = False
        self._current_step = 0
        self._adapter = _adapter(
            x,
            y,
            sample_weight,
            batch_size=batch_size,
            epochs=epochs - initial_epoch,
            steps=steps_per_epoch,
            shuffle=shuffle,
            model=model,
        )
        self.step_increment = self._execution() - 1
        dataset = self._adapter.dataset
        if class_weight:
            dataset = dataset.map(with_class_weights(class_weight))
        self._dataset = dataset
        self.inferred_steps = self._infer_steps(steps_per_epoch)
        if self._execution() > 1 and self.inferred_steps is None:
            raise ValueError(
                "Could not infer the size of the data. With `steps_per_execution > 1`, you must "
                "specify the number of steps to run."
            )

    def _execution(self) -> int:
        """How many steps one call of the train function makes."""
        return int(self._steps_per_execution.numpy())

    def _infer_steps(self, steps: int | None) -> int | None:
        if steps == -1:
            return None
        if steps is not None:
            return steps
        size: Any = self._adapter.size
        if size is not None:
            return int(size)
        size = self._dataset.cardinality()
        if size == -1:
            raise ValueError(
                "When passing an infinitely repeating dataset, please specify a `steps_per_epoch` "
                "value so that epoch level callbacks continue to work."
            )
        return int(size.numpy()) if size >= 0 else None

    def enumerate_epochs(self) -> Iterator[tuple[int, Any]]:
        """Each epoch with the iterator that gives its batches."""
        with self._truncated():
            iterator = iter(self._dataset)
            for epoch in range(self._initial_epoch, self._epochs):
                if self._insufficient_data:
                    break
                if self._adapter.recreates_iterator:
                    iterator = iter(self._dataset)
                    steps = self._infer_steps(self._steps_per_epoch)
                    if steps is not None:
                        self.inferred_steps = steps
                yield epoch, iterator
                self._adapter.on_epoch_end()

    @contextmanager
    def _truncated(self) -> Iterator[None]:
        """A call must not make more steps than an epoch has."""
        too_many = self.inferred_steps is not None and self._execution() > self.inferred_steps
        original = self._execution()
        try:
            if too_many:
                self._steps_per_execution.assign(self.inferred_steps)
            yield
        finally:
            if too_many:
                self._steps_per_execution.assign(original)

    def steps(self) -> Iterator[int]:
        """The steps of an epoch at which the train function is called."""
        self._current_step = 0
        while self.inferred_steps is None or self._current_step < self.inferred_steps:
            if self._insufficient_data:
                break
            wanted = self._execution()
            left = (
                wanted if self.inferred_steps is None else self.inferred_steps - self._current_step
            )
            made = wanted if wanted == 1 else min(wanted, left)
            if made != wanted:
                self._steps_per_execution.assign(made)
            self.step_increment = made - 1
            yield self._current_step
            self._current_step += made
            if made != wanted:
                self._steps_per_execution.assign(wanted)

    @contextmanager
    def catch_stop_iteration(self) -> Iterator[None]:
        """The end of the data ends the epoch."""
        try:
            yield
        except (StopIteration, OutOfRangeError):
            if self.inferred_steps is None:
                self.inferred_steps = self._current_step
                return
            self._insufficient_data = True
            log.warning(
                "Your input ran out of data; interrupting training. Make sure that your dataset "
                "or generator can generate at least `steps_per_epoch * epochs` batches (in this "
                "case, %d batches). You may need to use the repeat() function when building your "
                "dataset.",
                (self._epochs - self._initial_epoch) * self.inferred_steps,
            )


def _adapter(
    x: Any, y: Any, sample_weight: Any, *, steps: int | None, model: Any, **options: Any
) -> Any:
    """The adapter for that kind of data. Raises NotInThisRuntime for kinds it does not know."""
    if isinstance(x, Dataset):
        return DatasetBatches(x, y, sample_weight, steps=steps)
    if isinstance(x, Sequence):
        return SequenceBatches(x, y, sample_weight, model, shuffle=options["shuffle"])
    if isinstance(x, Iterator):
        return GeneratorBatches(x, y, sample_weight, model)
    x, y, sample_weight = (_scalars_to_array(each) for each in (x, y, sample_weight))
    for leaf in tf.nest.flatten((x, y)):
        if not isinstance(leaf, (np.ndarray, tf.Tensor)) and leaf is not None:
            raise NotInThisRuntime(
                f"data of type {type(leaf).__name__} in fit, evaluate and predict"
            )
    return ArrayBatches(x, y, sample_weight, steps=steps, **options)


def different_lengths(x: Any, y: Any, sample_weight: Any) -> str:
    text = "Data cardinality is ambiguous:\n"
    for name, data in (("x", x), ("y", y), ("sample_weight", sample_weight)):
        sizes = [str(len(each)) for each in tf.nest.flatten(data) if each is not None]
        text += f"  {name} sizes: {', '.join(sizes)}\n" if sizes else ""
    return text + "Make sure all arrays contain the same number of samples."


def _scalars_to_array(value: Any) -> Any:
    """A list of numbers, or of lists of them, as an array."""
    is_list = isinstance(value, (list, tuple))
    if (
        is_list
        and value
        and all(isinstance(each, (int, float, str)) for each in tf.nest.flatten(value))
    ):
        return np.array(value)
    return value


def with_class_weights(class_weight: dict[int, float]) -> Any:
    if sorted(class_weight) != list(range(len(class_weight))):
        raise ValueError(
            "Expected `class_weight` to be a dict with keys from 0 to one less than the number of "
            f"classes, found {class_weight}"
        )
    weights = tf.convert_to_tensor([class_weight[number] for number in sorted(class_weight)])

    def _class_weights_map_fn(*data: Any) -> Any:
        x, y, sample_weight = unpack(data)
        if y.shape.rank >= 2 and y.shape[-1] == 1:
            classes = tf.cast(tf.round(tf.squeeze(y, axis=-1)), tf.int64)
        else:
            classes = tf.argmax(y, axis=-1) if y.shape.rank >= 2 else tf.cast(tf.round(y), tf.int64)
        found = tf.gather(weights, classes)
        return (
            x,
            y,
            found if sample_weight is None else sample_weight * tf.cast(found, sample_weight.dtype),
        )

    return _class_weights_map_fn


def single_batch_iterator(
    x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None
) -> Any:
    """An iterator that gives one batch: all of it."""
    x, y, sample_weight = as_tensors((x, y, sample_weight))
    data = (x,) if y is None else pack(x, y, sample_weight)
    dataset = Dataset.from_tensors(data)
    if class_weight:
        dataset = dataset.map(with_class_weights(class_weight))
    return iter(dataset)


def _is_array(value: Any) -> bool:
    return value is None or isinstance(value, (np.ndarray, tf.Tensor))


def train_validation_split(arrays: Any, share: float) -> tuple[Any, Any]:
    """The first examples to train with, the last `share` of them to validate. Raises ValueError if
    one part is empty.
    """
    others = {type(each) for each in tf.nest.flatten(arrays) if not _is_array(each)}
    if others:
        raise ValueError(
            "`validation_split` is only supported for Tensors or NumPy arrays, found following "
            f"types in the input: {list(others)}"
        )
    length = next(int(each.shape[0]) for each in tf.nest.flatten(arrays) if each is not None)
    cut = math.floor(length * (1.0 - share))
    if cut in (0, length):
        raise ValueError(
            f"Training data contains {length} samples, which is not sufficient to split it into a "
            f"validation and training set as specified by `validation_split={share}`."
        )

    def part(start: int, end: int) -> Any:
        return tf.nest.map_structure(lambda each: None if each is None else each[start:end], arrays)

    return part(0, cut), part(cut, length)
