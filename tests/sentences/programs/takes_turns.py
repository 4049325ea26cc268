"""Two functions that take turns, with 4 ms of Python between them; the argument `quick` leaves that out."""

import sys
import time

import tensorflow as tf

weights = tf.Variable(tf.ones((32, 32)))


@tf.function
def embed(x):
    return tf.tanh(x @ weights)


@tf.function
def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(x @ weights - y))
    weights.assign_sub(1e-6 * tape.gradient(loss, weights))
    return loss


x = tf.ones((16, 32))
for _ in range(30):
    y = embed(x)
    until = time.perf_counter() + (0.0 if sys.argv[1] == "quick" else 0.004)
    while time.perf_counter() < until:
        pass
    train(x, y)
