"""Windows of a series, two epochs: a dataset for each, or slices of the tensor."""

import sys

import numpy as np
import tensorflow as tf

SIZE, BATCH = 24, 32
series = np.random.default_rng(1).normal(size=(600, 4)).astype("float32")

if sys.argv[1] == "nested":
    data = tf.data.Dataset.from_tensor_slices(series)
    data = data.window(SIZE, shift=1, drop_remainder=True)
    data = data.flat_map(lambda window: window.batch(SIZE, drop_remainder=True))
    data = data.batch(BATCH, drop_remainder=True)
else:
    table, steps = tf.constant(series), tf.range(SIZE)
    data = tf.data.Dataset.range(len(series) - SIZE + 1).batch(BATCH, drop_remainder=True)
    data = data.flat_map(
        lambda first: tf.data.Dataset.from_tensors(
            tf.gather(table, tf.cast(first, tf.int32)[:, None] + steps)
        )
    )

weights = tf.Variable(tf.random.stateless_normal((SIZE * 4, 8), (1, 2)))


@tf.function
def step(x):
    y = tf.nn.relu(tf.reshape(x, (BATCH, SIZE * 4)) @ weights)
    return tf.reduce_mean(y * y)


for _ in range(2):
    for x in data:
        step(x)
