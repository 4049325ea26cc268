"""`tf.lookup`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import lookup

KeyValueTensorInitializer = lookup.KeyValueTensorInitializer
StaticHashTable = lookup.StaticHashTable

__getattr__ = missing("tf.lookup")
