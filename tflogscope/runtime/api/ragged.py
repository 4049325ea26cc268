"""`tf.ragged`."""

from __future__ import annotations

from tflogscope.runtime import ragged
from tflogscope.runtime.api.missing import missing

constant = ragged.constant

__getattr__ = missing("tf.ragged")
