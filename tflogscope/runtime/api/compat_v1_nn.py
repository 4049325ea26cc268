"""`tf.compat.v1.nn`."""

from __future__ import annotations

from tflogscope.runtime.api.compat_v1_names import shared as _shared
from tflogscope.runtime.library import nn, normalization

dropout = normalization.dropout_v1
fused_batch_norm = normalization.fused_batch_norm
relu_layer = nn.relu_layer
softmax_cross_entropy_with_logits_v2 = nn.softmax_cross_entropy_with_logits
xw_plus_b = nn.xw_plus_b

__getattr__ = _shared("nn")
