"""`tf.bitwise`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import comparison

bitwise_and = comparison.bitwise_and
bitwise_or = comparison.bitwise_or
bitwise_xor = comparison.bitwise_xor
invert = comparison.invert
left_shift = comparison.left_shift
right_shift = comparison.right_shift

__getattr__ = missing("tf.bitwise")
