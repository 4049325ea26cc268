"""`tf.keras.preprocessing` of Keras 3: what is left of Keras 2's.

Told about: `keras/src/legacy/preprocessing/`.
"""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras3.preprocessing import sequence, text

__all__ = ["sequence", "text"]

__getattr__ = missing("tf.keras.preprocessing")
