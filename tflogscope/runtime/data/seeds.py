"""The seeds of a shuffle, as tensors.

Told about: `tensorflow/python/data/util/random_seed.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.library.seeds import get_seed

__all__ = ["get_seeds"]


def get_seeds(seed: int | None) -> tuple[Any, Any]:
    """Two scalar int64 tensors; both 0 mean that the order is different in each run.

    Where both come out as 0 but the user gave a seed, the second becomes another number: ops choose
    it.
    """
    first, second = get_seed(seed)
    seed1 = tf.convert_to_tensor(0 if first is None else first, dtype=tf.int64, name="seed")
    if second is None:
        return seed1, tf.convert_to_tensor(0, dtype=tf.int64, name="seed2")
    with tf.name_scope("seed2") as scope:
        seed2 = tf.convert_to_tensor(second, dtype=tf.int64)
        both_zero = tf.logical_and(tf.equal(seed1, 0), tf.equal(seed2, 0))
        seed2 = tf.where(both_zero, tf.constant(2**31 - 1, dtype=tf.int64), seed2, name=scope)
    return seed1, seed2
