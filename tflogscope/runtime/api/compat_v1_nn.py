"""`tf.compat.v1.nn`."""

from __future__ import annotations

from tflogscope.runtime.api.compat_v1_names import shared as _shared
from tflogscope.runtime.library import normalization

fused_batch_norm = normalization.fused_batch_norm

__getattr__ = _shared("nn")
