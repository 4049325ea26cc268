"""A map keeps the processors busy beside the steps: in each epoch (`again`), or once, as a cache keeps its results (`cached`)."""

import sys

import tensorflow as tf

phases = tf.random.normal([128, 128, 400])


def waves(number):
    return tf.reduce_mean(tf.sin(phases + tf.cast(number, tf.float32)), axis=-1)


@tf.function
def step(batch, weights):
    return tf.reduce_sum(tf.linalg.svd(batch + weights, compute_uv=False))


data = tf.data.Dataset.range(30).map(waves, num_parallel_calls=2)
if sys.argv[1] == "cached":
    data = data.cache()
data = data.prefetch(4)
weights = tf.random.normal([128, 128])
for _ in range(4):
    for batch in data:
        for _ in range(3):
            step(batch, weights)
