"""A penalty of a whole embedding table makes its gradient dense."""

import tensorflow as tf

table = tf.Variable(tf.random.normal([20_000, 32]))
weights = tf.Variable(tf.random.normal([32, 1]))


@tf.function
def step(rows, target):
    with tf.GradientTape() as tape:
        looked_up = tf.gather(table, rows)
        loss = tf.reduce_mean(tf.square(looked_up @ weights - target))
        loss += 1e-6 * tf.nn.l2_loss(table)
    for gradient, variable in zip(tape.gradient(loss, [table, weights]), [table, weights]):
        variable.assign_sub(0.1 * gradient)
    return loss


for number in range(30):
    step(tf.range(64) + number, tf.ones([64, 1]))
