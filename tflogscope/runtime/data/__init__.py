"""`tf.data`, small: a dataset is a variant tensor made by an op; iterating runs its functions.

elements.py   what the ops make: iterables of elements
dataset.py    `tf.data.Dataset`, and what an element is
"""

from __future__ import annotations

from tflogscope.runtime.data import elements as elements  # its ops are in the table
