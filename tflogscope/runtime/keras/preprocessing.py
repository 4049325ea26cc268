"""`tf.keras.preprocessing`: only `sequence.pad_sequences`.

Told about: `keras/src/utils/data_utils.py`.
"""

from __future__ import annotations

from types import SimpleNamespace

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras import utils

sequence = SimpleNamespace(pad_sequences=utils.pad_sequences)

__getattr__ = missing("tf.keras.preprocessing")
