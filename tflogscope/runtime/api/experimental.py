"""`tf.experimental`: nothing of it is here."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing

__getattr__ = missing("tf.experimental")
