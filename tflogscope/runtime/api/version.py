"""`tf.version`: the TensorFlow that this runtime tells about."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing

VERSION = "2.13.1"

__getattr__ = missing("tf.version")
