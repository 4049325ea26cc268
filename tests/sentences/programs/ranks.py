"""The ten best of many: `sorted` and cut, or by `top_k`; or all of them, `reversed`."""

import sys

import tensorflow as tf


@tf.function
def rank(scores):
    if sys.argv[1] == "sorted":
        return tf.argsort(scores, direction="DESCENDING")[:, :10]
    if sys.argv[1] == "reversed":
        return tf.argsort(scores)[:, ::-1]
    return tf.math.top_k(scores, 10).indices


items = tf.random.normal((64, 30_000))
for turn in range(20):
    rank(tf.random.normal((4, 64)) @ items)
