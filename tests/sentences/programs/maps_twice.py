"""One function maps the data of two loops: much for the first, little for the second."""

import tensorflow as tf


def grow(x):
    for _ in range(6):
        x = tf.nn.conv2d(x[None], tf.ones((5, 5, 8, 8)) / 200, 1, "SAME")[0]
    return tf.reduce_mean(x)


@tf.function
def step(x):
    return tf.reduce_sum(x)


images = tf.data.Dataset.from_tensors(tf.ones((64, 64, 8)))
small = images.repeat(40).map(grow)
large = images.repeat(400).map(grow)
for data in (small, large):
    for x in data.batch(8):
        step(x)
