"""`tf.types`."""

from __future__ import annotations

from tflogscope.runtime.api import types_experimental as experimental
from tflogscope.runtime.api.missing import missing

__all__ = ["experimental"]
__getattr__ = missing("tf.types")
