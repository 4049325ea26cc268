"""It crashes before its first op."""

import tensorflow as tf

data = tf.data.Dataset.from_nothing()
