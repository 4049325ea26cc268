"""Products in float64: with a factorization (`cholesky`), which needs it, or without (`products`)."""

import sys

import tensorflow as tf


@tf.function
def step(x):
    kernel = tf.matmul(x, x, transpose_b=True) / 160 + tf.eye(160, dtype=tf.float64)
    if sys.argv[1] == "cholesky":
        kernel = tf.linalg.cholesky(kernel)
    return tf.reduce_sum(tf.matmul(kernel, x))


x = tf.random.normal([160, 400], dtype=tf.float64)
for _ in range(40):
    step(x)
