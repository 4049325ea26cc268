"""`tf.version`: the TensorFlow that this runtime tells about."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing

VERSION = "2.13.1"
GIT_VERSION = "v2.13.0-17-gf841394b1b7"
GRAPH_DEF_VERSION = 1482

__getattr__ = missing("tf.version")
