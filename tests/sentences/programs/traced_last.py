"""A program that traces a function with gradients, never calls it, and ends as it should."""

import tensorflow as tf

w = tf.Variable(tf.ones((4, 4)))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.matmul(x, w))
    return tape.gradient(loss, w)


print(tf.reduce_sum(w))
step.get_concrete_function(tf.TensorSpec((4, 4)))
