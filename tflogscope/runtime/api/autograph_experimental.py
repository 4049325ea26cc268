"""`tf.autograph.experimental`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.autograph import conversion

do_not_convert = conversion.do_not_convert

__getattr__ = missing("tf.autograph.experimental")
