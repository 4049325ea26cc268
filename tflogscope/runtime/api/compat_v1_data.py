"""`tf.compat.v1.data`."""

from __future__ import annotations

from tflogscope.runtime.api.compat_v1_names import shared as _shared
from tflogscope.runtime.data import iterators_v1

make_initializable_iterator = iterators_v1.make_initializable_iterator
make_one_shot_iterator = iterators_v1.make_one_shot_iterator

__getattr__ = _shared("data")
