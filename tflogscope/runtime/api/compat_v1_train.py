"""`tf.compat.v1.train`."""

from __future__ import annotations

from tflogscope.runtime import sessions
from tflogscope.runtime.api.missing import missing

GradientDescentOptimizer = sessions.GradientDescentOptimizer

__getattr__ = missing("tf.compat.v1.train")
