"""Slow rows in four epochs, with a cache in front of (`early`) or behind (`taken`, `kept`) the map.

`taken` reads 40 of 50 rows of the cache.
"""

import sys

import tensorflow as tf


def slow(i):
    x = tf.reshape(tf.cast(tf.range(90_000), tf.float32), (300, 300))
    x = tf.sin(x + tf.cast(i, tf.float32))
    for _ in range(6):
        x = tf.tanh(tf.matmul(x, x) / 20)
    return x


data = tf.data.Dataset.range(50 if sys.argv[1] == "taken" else 40)
if sys.argv[1] == "early":
    data = data.cache().map(slow)
else:
    data = data.map(slow).cache()


@tf.function
def step(x):
    return tf.reduce_sum(x)


for _ in range(4):
    for x in data.take(40).prefetch(2):
        step(x)
