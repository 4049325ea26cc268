"""`tf.keras.utils`, what little there is.

Told about: `keras/src/utils/tf_utils.py`, `np_utils.py`, `data_utils.py`, `generic_utils.py`.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras import backend
from tflogscope.runtime.keras.progress import ProgressBar

__all__ = [
    "Progbar", "Sequence", "normalize", "pad_sequences", "set_random_seed", "to_categorical",
]  # fmt: skip


def set_random_seed(seed: int) -> None:
    """Seed Python, NumPy, TensorFlow and the weights: the same program then prints the same
    numbers.

    Raises ValueError for what is no int.
    """
    if not isinstance(seed, int):
        raise ValueError(
            f"Expected `seed` argument to be an integer. Received: seed={seed} (of type "
            f"{type(seed)})"
        )
    random.seed(seed)
    np.random.seed(seed)
    tf.random.set_seed(seed)
    backend.seed_weights(seed)


def to_categorical(y: Any, num_classes: int | None = None, dtype: str = "float32") -> Any:
    """Numbers of classes as rows with a 1 at that place."""
    labels = np.array(y, dtype="int")
    shape = (
        labels.shape[:-1]
        if labels.shape and labels.shape[-1] == 1 and labels.ndim > 1
        else labels.shape
    )
    flat = labels.ravel()
    classes = num_classes or int(flat.max()) + 1
    rows = np.zeros((len(flat), classes), dtype=dtype)
    rows[np.arange(len(flat)), flat] = 1
    return rows.reshape((*shape, classes))


def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    """An array divided by its norms along an axis."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / np.expand_dims(norms, axis)


def pad_sequences(
    sequences: Any,
    maxlen: int | None = None,
    dtype: str = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: float = 0.0,
) -> Any:
    """Lists of numbers as the rows of an array, filled up, or cut, in front or behind."""
    longest = max((len(each) for each in sequences), default=0) if maxlen is None else maxlen
    rest = next((np.asarray(each).shape[1:] for each in sequences if len(each)), ())
    rows = np.full((len(sequences), longest, *rest), value, dtype=dtype)
    for row, each in zip(rows, sequences, strict=True):
        kept = each[-longest:] if truncating == "pre" else each[:longest]
        if len(each) and longest:
            row[-len(kept) :] = kept if padding == "pre" else row[-len(kept) :]
            if padding == "post":
                row[: len(kept)] = kept
    return rows


class Sequence:
    """Batches by number, for `fit`. Subclasses have `__len__` and `__getitem__`."""

    def on_epoch_end(self) -> None:
        """Called after each epoch."""

    def __iter__(self) -> Any:
        for index in range(len(self)):  # type: ignore[arg-type]
            yield self[index]  # type: ignore[index]


class Progbar:
    """The progress bar, for loops that users write; it shows the means of what it is given."""

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Any = None,
        unit_name: str = "step",
    ) -> None:
        del width, interval, unit_name
        self.target, self.stateful_metrics = target, set(stateful_metrics or ())
        self._bar = ProgressBar(target, verbose)
        self._sums: dict[str, tuple[float, int]] = {}
        self._seen = 0

    def update(self, current: int, values: Any = None, finalize: bool | None = None) -> None:
        """We are at `current`, with these names and numbers."""
        weight = max(current - self._seen, 1)
        for name, value in values or []:
            total, count = self._sums.get(name, (0.0, 0))
            last = name in self.stateful_metrics
            self._sums[name] = (
                (float(value), 1) if last else (total + float(value) * weight, count + weight)
            )
        self._seen = current
        means = {name: total / max(count, 1) for name, (total, count) in self._sums.items()}
        finish = self.target is not None and current >= self.target
        self._bar.update(current, means, finish=finish if finalize is None else finalize)

    def add(self, n: int, values: Any = None) -> None:
        """We are `n` further."""
        self.update(self._seen + n, values)


def __getattr__(name: str) -> Any:
    """What is about configurations, or time series, stands in another module."""
    from tflogscope.runtime.keras import saving, timeseries

    for module in (saving, timeseries):
        if name in module.__all__:
            return getattr(module, name)
    return missing("tf.keras.utils")(name)
