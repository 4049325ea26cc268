"""Each step normalizes a whole table, and looks up a few rows of it."""

import tensorflow as tf

users = tf.Variable(tf.random.normal([40_000, 32], 0, 0.1))


@tf.function
def step(ids):
    with tf.GradientTape() as tape:
        rows = tf.gather(tf.nn.l2_normalize(users, axis=1), ids)
        loss = tf.reduce_mean(tf.matmul(rows, rows, transpose_b=True))
    users.assign_sub(0.5 * tape.gradient(loss, users))
    return loss


batches = [tf.random.uniform([256], 0, 40_000, tf.int32) for _ in range(20)]
for ids in batches:
    step(ids)
