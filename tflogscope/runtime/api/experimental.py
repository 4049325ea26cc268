"""`tf.experimental`: little of it is here."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.data.iterator import Optional

__all__ = ["Optional"]

__getattr__ = missing("tf.experimental")
