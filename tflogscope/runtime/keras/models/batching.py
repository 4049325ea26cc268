"""Batches of arrays: a dataset of indices that are shuffled and cut, and a batch gathered for each.

That is where a log of `fit` shows `Dataset_map_permutation`, `Dataset_flat_map_slice_batch_indices`
and `Dataset_map_grab_batch`.

Told about: `TensorLikeDataAdapter` of `keras/src/engine/data_adapter.py`, `ArrayDataAdapter` of
Keras 3.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.data.dataset import Dataset

__all__ = ["batches_of_indices", "gathered"]


def batches_of_indices(epochs: Dataset, length: int, batch_size: int, *, shuffled: bool) -> Dataset:
    """For each epoch the indices of all examples in a new order, cut into batches."""
    whole, rest = divmod(length, batch_size)

    def permutation(_: Any) -> Any:
        indices = tf.range(length, dtype=tf.int64)
        return tf.random.shuffle(indices) if shuffled else indices

    def slice_batch_indices(indices: Any) -> Dataset:
        first = tf.reshape(tf.slice(indices, [0], [whole * batch_size]), [whole, batch_size])
        batches = Dataset.from_tensor_slices(first)
        if rest:
            last = Dataset.from_tensors(tf.slice(indices, [whole * batch_size], [rest]))
            batches = batches.concatenate(last)
        return batches

    return epochs.map(permutation).prefetch(1).flat_map(slice_batch_indices)


def gathered(indices: Dataset, inputs: Any, *, shuffled: bool) -> Dataset:
    """A batch of the inputs for each batch of indices."""
    from tflogscope.runtime.data import AutoShardPolicy, ExternalStatePolicy, Options

    dataset = Dataset.zip((indices, Dataset.from_tensors(inputs).repeat()))

    def grab_batch(i: Any, data: Any) -> Any:
        return tf.nest.map_structure(lambda each: tf.gather(each, i, axis=0), data)

    dataset = dataset.map(grab_batch, num_parallel_calls=-1)
    options = Options()
    options.experimental_optimization.apply_default_optimizations = False
    if shuffled:
        options.experimental_external_state_policy = ExternalStatePolicy.IGNORE
    dataset = dataset.with_options(options)
    options = Options()
    options.experimental_distribute.auto_shard_policy = AutoShardPolicy.DATA
    return dataset.with_options(options).prefetch(-1)
