"""`tf.train`."""

from __future__ import annotations

from tflogscope.runtime import moving_averages
from tflogscope.runtime.api.missing import missing

ExponentialMovingAverage = moving_averages.ExponentialMovingAverage

__getattr__ = missing("tf.train")
