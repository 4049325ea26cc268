"""`tf.keras.utils`, what little there is.

Told about: `keras/src/utils/tf_utils.py` and `np_utils.py`.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras import backend

__all__ = ["set_random_seed", "to_categorical"]


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
    return np.eye(classes, dtype=dtype)[flat].reshape((*shape, classes))


__getattr__ = missing("tf.keras.utils")
