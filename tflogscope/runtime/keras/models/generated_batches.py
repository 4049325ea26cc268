"""Batches that Python makes: a generator, or a `Sequence` of batches by number.

The first batch is looked at before all others: it says of which dtypes and ranks they are, and a
model that has no weights yet is called on it.

Told about: `GeneratorDataAdapter` and `KerasSequenceAdapter` of
`keras/src/engine/data_adapter.py`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.data.dataset import Dataset
from tflogscope.runtime.keras import backend
from tflogscope.runtime.keras.models.packing import as_tensors, lists_to_tuples, pack, unpack

__all__ = ["GeneratorBatches", "SequenceBatches"]


class GeneratorBatches:
    """What a generator yields, until it ends. It can't start anew."""

    size: int | None = None
    recreates_iterator = False
    _kind = "python generator"

    def __init__(self, x: Any, y: Any, sample_weight: Any, model: Any) -> None:
        """Raises ValueError for labels or weights beside it."""
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if value is not None:
                raise ValueError(
                    f"`{name}` argument is not supported when using {self._kind} as input."
                )
        first, batches = self._look_into(x)
        tensors = as_tensors(_standardized(first))
        if model is not None and not model.built:
            with suppress(NotImplementedError):  # a container of models, as a GAN often is
                model(unpack(tensors)[0], training=False)
        spec = tf.nest.map_structure(
            lambda each: tf.TensorSpec([None] * each.shape.rank, each.dtype),
            tf.nest.map_structure(tf.convert_to_tensor, tensors),
        )
        generated = Dataset.from_generator(
            lambda: map(_standardized, batches()), output_signature=spec
        )
        self.dataset = generated.prefetch(1).prefetch(-1)

    def _look_into(self, x: Any) -> tuple[Any, Callable[[], Iterable[Any]]]:
        """The first batch, and what gives all of them."""
        first = next(x)
        rest = itertools.chain([first], x)
        return first, lambda: rest

    def on_epoch_end(self) -> None:
        """Nobody is told."""


class SequenceBatches(GeneratorBatches):
    """The batches of a `Sequence`, in random order if they are to be shuffled."""

    recreates_iterator = True
    _kind = "`keras.utils.Sequence`"

    def __init__(self, x: Any, y: Any, sample_weight: Any, model: Any, *, shuffle: bool) -> None:
        self._sequence, self._shuffle = x, shuffle
        self.size = len(x)
        super().__init__(x, y, sample_weight, model)

    def _look_into(self, x: Any) -> tuple[Any, Callable[[], Iterable[Any]]]:
        return x[0], self._in_order

    def _in_order(self) -> Iterable[Any]:
        order = list(range(len(self._sequence)))
        if self._shuffle:
            random.shuffle(order)
        return (self._sequence[number] for number in order)

    def on_epoch_end(self) -> None:
        """The sequence is told; it may change its batches."""
        self._sequence.on_epoch_end()


def _standardized(data: Any) -> Any:
    """A batch as inputs, labels and weights; floats in the default dtype."""

    def convert(value: Any) -> Any:
        floating = isinstance(value, np.ndarray) and issubclass(value.dtype.type, np.floating)
        return np.array(value, dtype=backend.floatx()) if floating else value

    return tf.nest.map_structure(convert, lists_to_tuples(pack(*unpack(data))))
