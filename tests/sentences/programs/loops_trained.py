"""Loops inside graphs, and their gradients. Usage: loops_trained.py mapped|recurrent|integrated."""

import sys

import numpy as np
import tensorflow as tf

KIND = sys.argv[1]
W = tf.Variable(np.random.default_rng(0).normal(size=(16, 16)).astype("float32") / 4)
RATE = tf.Variable(0.1)


def mapped(x):
    """A distance of each row to all rows."""
    y = tf.matmul(x, W)
    return tf.map_fn(lambda row: tf.reduce_max(tf.square(y - row[None])), y)


def recurrent(x):
    """Tiny products, each of which needs the one before."""
    h = x[:2]
    for _ in tf.range(10):
        h = tf.tanh(tf.matmul(h, W))
    return h


def integrated(x):
    """Steps of an integration, each of which needs the one before: sums and products alone."""
    prey, hunters = x[0], x[1]
    for _ in tf.range(10):
        met = RATE * prey * hunters
        prey, hunters = prey + RATE * prey - met, hunters - RATE * hunters + met
    return prey


@tf.function
def train(x):
    variables = [RATE] if KIND == "integrated" else [W]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(globals()[KIND](x))
    for variable, gradient in zip(variables, tape.gradient(loss, variables)):
        variable.assign_sub(0.001 * gradient)
    return loss


x = tf.ones((10, 16)) / 8
for _ in range(3):
    train(x)
