"""A compiled function that is called with three shapes."""

import tensorflow as tf


@tf.function(jit_compile=True)
def norm(x):
    return tf.reduce_sum(tf.matmul(x, x, transpose_a=True) * 2.0)


for rows in (8, 16, 24):
    for _ in range(2):
        norm(tf.ones((rows, 4)))
