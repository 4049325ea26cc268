"""A small function with two eager ops behind each call; started twice at the same time, into one log."""
import sys, numpy as np, tensorflow as tf
w = tf.Variable(tf.ones([8, 8]))
@tf.function
def step(x):
    w.assign_sub(0.01 * tf.matmul(x, tf.matmul(x, w), transpose_a=True))
    return tf.reduce_sum(w)
x = tf.ones([16, 8])
for i in range(6):
    loss = step(x)
    tf.math.sqrt(tf.abs(loss))
