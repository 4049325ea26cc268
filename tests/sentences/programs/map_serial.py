"""Batches that a map makes one after the other: of many small ops (`small`), or of products that take all processors (`large`)."""

import sys

import tensorflow as tf

weights = tf.Variable(tf.random.normal([64, 64]))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.matmul(x, weights) ** 2)
    weights.assign_sub(1e-6 * tape.gradient(loss, weights))
    return loss


def small(number):
    x = tf.fill([64, 64], tf.cast(number, tf.float32))
    for _ in range(150):
        x = tf.cumsum(tf.sin(x))
    return x


def large(number):
    x = tf.fill([1024, 1024], tf.cast(number, tf.float32))
    for _ in range(2):
        x = tf.matmul(x, x) / 1024.0
    return x[:64, :64]


for x in tf.data.Dataset.range(24).map({"small": small, "large": large}[sys.argv[1]]):
    step(x)
