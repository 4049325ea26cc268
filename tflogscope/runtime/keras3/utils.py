"""`tf.keras.utils` of Keras 3.

Told about: `keras/src/utils/`.
"""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.utils import (
    normalize,
    pad_sequences,
    set_random_seed,
    to_categorical,
)

__all__ = ["normalize", "pad_sequences", "set_random_seed", "to_categorical"]

__getattr__ = missing("tf.keras.utils")
