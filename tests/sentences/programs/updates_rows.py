"""Trains embeddings with SGD, which updates the rows of a large table that a batch reads."""

import tensorflow as tf

users = tf.Variable(tf.random.normal([40_000, 32], 0, 0.05))
dense = tf.Variable(tf.random.normal([32, 32], 0, 0.1))
optimizer = tf.keras.optimizers.SGD(1e-2)
optimizer.build([users, dense])


@tf.function
def step(ids):
    with tf.GradientTape() as tape:
        rows = tf.matmul(tf.gather(users, ids), dense)
        loss = tf.reduce_mean(rows * rows)
    gradients = tape.gradient(loss, [users, dense])
    optimizer.apply_gradients(zip(gradients, [users, dense]))
    return loss


data = tf.data.Dataset.range(30 * 64).batch(64).prefetch(2)
for ids in data:
    step(ids)
