"""`tf.keras.utils.timeseries_dataset_from_array`: a dataset of windows over rows.

Told about: `keras/src/utils/timeseries_dataset.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tflogscope.runtime.api as tf

__all__ = ["timeseries_dataset_from_array"]


def timeseries_dataset_from_array(
    data: Any,
    targets: Any,
    sequence_length: int,
    sequence_stride: int = 1,
    sampling_rate: int = 1,
    batch_size: int | None = 128,
    shuffle: bool = False,
    seed: int | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
) -> Any:
    """Windows of `sequence_length` rows, with the targets at their starts."""
    _check(len(data), sequence_stride, sampling_rate, start_index, end_index)
    start = 0 if start_index is None else start_index
    end = len(data) if end_index is None else end_index
    windows = end - start - (sequence_length - 1) * sampling_rate
    if targets is not None:
        windows = min(windows, len(targets))
    dtype = "int32" if windows < 2147483647 else "int64"
    starts = np.arange(0, windows, sequence_stride, dtype=dtype)
    if shuffle:
        seed = np.random.randint(1_000_000) if seed is None else seed
        np.random.RandomState(seed).shuffle(starts)
    length = tf.cast(sequence_length, dtype=dtype)
    rate = tf.cast(sampling_rate, dtype=dtype)
    all_starts = tf.data.Dataset.from_tensors(starts).repeat()

    def places(place: Any) -> Any:
        numbers = tf.data.Dataset.range(len(starts))
        zipped = tf.data.Dataset.zip((numbers, all_starts))
        return zipped.map(place, num_parallel_calls=tf.data.AUTOTUNE)

    indices = places(lambda i, at: tf.range(at[i], at[i] + length * rate, rate))
    dataset = _rows_at(data[start:end], indices)
    if targets is not None:
        wanted = _rows_at(targets[start:end], places(lambda i, at: at[i]))
        dataset = tf.data.Dataset.zip((dataset, wanted))
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    if shuffle:
        around = 1024 if batch_size is None else batch_size * 8
        dataset = dataset.shuffle(buffer_size=around, seed=seed)
    return dataset if batch_size is None else dataset.batch(batch_size)


def _rows_at(rows: Any, indices: Any) -> Any:
    dataset = tf.data.Dataset.from_tensors(rows)
    return tf.data.Dataset.zip((dataset.repeat(), indices)).map(
        lambda steps, at: tf.gather(steps, at),  # noqa: PLW0108 - functions are named after it
        num_parallel_calls=tf.data.AUTOTUNE,
    )


def _check(
    length: int,
    sequence_stride: int,
    sampling_rate: int,
    start_index: int | None,
    end_index: int | None,
) -> None:
    """Raises ValueError for what is not in the data."""
    if start_index and start_index < 0:
        raise ValueError(f"`start_index` must be 0 or greater. Received: start_index={start_index}")
    if start_index and start_index >= length:
        raise ValueError(
            "`start_index` must be lower than the length of the data. Received: "
            f"start_index={start_index}, for data of length {length}"
        )
    if end_index and start_index and end_index <= start_index:
        raise ValueError(
            "`end_index` must be higher than `start_index`. Received: "
            f"start_index={start_index}, and end_index={end_index} "
        )
    if end_index and end_index >= length:
        raise ValueError(
            "`end_index` must be lower than the length of the data. Received: "
            f"end_index={end_index}, for data of length {length}"
        )
    if end_index and end_index <= 0:
        raise ValueError(f"`end_index` must be higher than 0. Received: end_index={end_index}")
    for name, value in (("sampling_rate", sampling_rate), ("sequence_stride", sequence_stride)):
        if value <= 0:
            raise ValueError(f"`{name}` must be higher than 0. Received: {name}={value}")
        if value >= length:
            raise ValueError(
                f"`{name}` must be lower than the length of the data. Received: "
                f"{name}={value}, for data of length {length}"
            )
