"""A loop adds up the losses of a function that takes NumPy arrays; with `updates` it keeps their average in a variable.

What is true: an AddV2 after each of 80 calls; the constants before each call are its arguments.
"""

import sys

import numpy as np
import tensorflow as tf

w = tf.Variable(tf.random.stateless_normal((64, 64), (1, 2)) * 0.1)
average = tf.Variable(0.0)


@tf.function(input_signature=[tf.TensorSpec([32, 64]), tf.TensorSpec([32])])
def step(x, y):
    return tf.reduce_mean(tf.square(tf.reduce_sum(tf.nn.relu(x @ w) @ w, 1) - y))


rng = np.random.default_rng(0)
total = 0.0
for _ in range(80):
    x, y = rng.normal(size=(32, 64)).astype("f4"), rng.normal(size=32).astype("f4")
    loss = step(x, y)
    if "updates" in sys.argv:
        average.assign(0.9 * average + loss)
    else:
        total += loss
