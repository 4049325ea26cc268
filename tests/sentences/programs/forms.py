"""Quadratic forms of 400 rows: the `diagonal` of all products, `rows` by themselves, or `both`."""

import sys

import tensorflow as tf

rows = tf.random.normal((400, 64))
metric = tf.Variable(tf.eye(64))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        projected = tf.matmul(x, metric)
        if sys.argv[1] == "rows":
            forms = tf.reduce_sum(projected * x, axis=-1)
        else:
            products = tf.matmul(projected, x, transpose_b=True)
            forms = tf.linalg.diag_part(products)
        loss = tf.reduce_mean(tf.abs(forms))
        if sys.argv[1] == "both":
            loss += tf.reduce_mean(products**2)
    metric.assign_sub(0.001 * tape.gradient(loss, metric))
    return loss


for _ in range(20):
    step(rows)
