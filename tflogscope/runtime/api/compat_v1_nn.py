"""`tf.compat.v1.nn`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import normalization

fused_batch_norm = normalization.fused_batch_norm

__getattr__ = missing("tf.compat.v1.nn")
