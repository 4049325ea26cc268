"""Gradients of four small batches are added up in Python, outside any function, and applied at once; a counter counts."""

import tensorflow as tf

tf.random.set_seed(0)
x, y = tf.random.normal([32, 8]), tf.random.normal([32, 1])
weights = [tf.Variable(tf.random.normal([8, 1])), tf.Variable(tf.zeros([1]))]
sums = [tf.Variable(tf.zeros_like(each), trainable=False) for each in weights]
step = tf.Variable(0, dtype=tf.int64, trainable=False)


@tf.function
def gradients(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(x, weights[0]) + weights[1] - y) ** 2)
    return tape.gradient(loss, weights)


@tf.function
def update():
    for each, total in zip(weights, sums):
        each.assign_sub(0.01 * total)
        total.assign(tf.zeros_like(total))


for _ in range(2):
    for _ in range(4):
        for total, gradient in zip(sums, gradients(x, y)):
            total.assign_add(gradient)
    update()
    step.assign_add(1)
