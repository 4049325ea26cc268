"""Four lines of a program that build the same pipeline, once each."""

import numpy as np
import tensorflow as tf

ROWS = np.ones((64, 16), "float32")


@tf.function
def step(batch):
    return tf.reduce_sum(tf.matmul(batch, batch, transpose_b=True))


def run_steps(rows):
    data = tf.data.Dataset.from_tensor_slices(rows).map(lambda row: row * 2.0).batch(32)
    return [step(batch) for batch in data]


run_steps(ROWS)
run_steps(ROWS * 2)
run_steps(ROWS * 3)
run_steps(ROWS * 4)
