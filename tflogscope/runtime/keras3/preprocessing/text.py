"""`tf.keras.preprocessing.text` of Keras 3.

Told about: `keras/src/legacy/preprocessing/text.py`.
"""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.preprocessing.text import (
    Tokenizer,
    text_to_word_sequence,
    tokenizer_from_json,
)

__all__ = ["Tokenizer", "text_to_word_sequence", "tokenizer_from_json"]

__getattr__ = missing("tf.keras.preprocessing.text")
