"""`tf.keras.preprocessing.sequence` of Keras 3.

Told about: `keras/src/utils/sequence_utils.py`.
"""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.utils import pad_sequences

__all__ = ["pad_sequences"]

__getattr__ = missing("tf.keras.preprocessing.sequence")
