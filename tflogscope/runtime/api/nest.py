"""`tf.nest`."""

from __future__ import annotations

from tflogscope.runtime import composites, nest
from tflogscope.runtime.api.missing import missing

assert_same_structure = nest.assert_same_structure
flatten = composites.flatten
is_nested = nest.is_nested
map_structure = composites.map_structure
pack_sequence_as = composites.pack_sequence_as

__getattr__ = missing("tf.nest")
