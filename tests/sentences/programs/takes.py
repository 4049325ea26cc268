"""Four epochs of ten rows each, of a dataset that repeats: each takes its own, and fills a shuffle of 20."""

import tensorflow as tf


def slow(i):
    x = tf.reshape(tf.cast(tf.range(90_000), tf.float32), (300, 300))
    x = tf.sin(x + tf.cast(i, tf.float32))
    for _ in range(6):
        x = tf.tanh(tf.matmul(x, x) / 20)
    return x


data = tf.data.Dataset.range(40).repeat().map(slow).shuffle(20)


@tf.function
def step(x):
    return tf.reduce_sum(x)


for _ in range(4):
    for x in data.take(10):
        step(x)
