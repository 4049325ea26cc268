"""A loop over a generator that waits 4 ms for each of 25 elements; the step takes less."""

import time

import numpy as np
import tensorflow as tf

import truth


def rows():
    for _ in range(25):
        time.sleep(0.004)
        yield np.ones((4, 4), np.float32)


@tf.function
def step(x):
    return tf.reduce_sum(tf.matmul(x, x))


data = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((4, 4)))
step(tf.ones((4, 4)))
with truth.phase("loop"):
    for x in data:
        step(x)
