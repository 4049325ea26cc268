"""`tf.random.experimental`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import random

stateless_fold_in = random.stateless_fold_in
stateless_shuffle = random.stateless_shuffle
stateless_split = random.stateless_split

__getattr__ = missing("tf.random.experimental")
