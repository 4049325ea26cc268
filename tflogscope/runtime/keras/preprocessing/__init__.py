"""`tf.keras.preprocessing`: padded sequences and numbered words.

Told about: `keras/src/utils/data_utils.py`, `keras/src/preprocessing/`.
"""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.preprocessing import sequence, text

__all__ = ["sequence", "text"]

__getattr__ = missing("tf.keras.preprocessing")
