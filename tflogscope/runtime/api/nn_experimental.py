"""`tf.nn.experimental`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import normalization

general_dropout = normalization.general_dropout
stateless_dropout = normalization.stateless_dropout

__getattr__ = missing("tf.nn.experimental")
