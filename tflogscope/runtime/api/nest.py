"""`tf.nest`."""

from __future__ import annotations

from tflogscope.runtime import nest
from tflogscope.runtime.api.missing import missing

assert_same_structure = nest.assert_same_structure
flatten = nest.flatten
is_nested = nest.is_nested
map_structure = nest.map_structure
pack_sequence_as = nest.pack_sequence_as

__getattr__ = missing("tf.nest")
