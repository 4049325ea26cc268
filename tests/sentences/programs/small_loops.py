"""Loops inside graphs. Usage: small_loops.py sums|rows|mapped|recurrent|updates|lstm|products|few."""

import sys

import numpy as np
import tensorflow as tf

KIND = sys.argv[1]
W = tf.Variable(np.random.default_rng(0).normal(size=(256, 256)).astype("float32") / 16)
B = tf.Variable(tf.zeros(16))


@tf.function
def sums(x):
    total = tf.constant(0.0)
    for i in tf.range(16):
        total += x[i, 0] * x[i, 0]
    return total


@tf.function
def rows(x):
    out = tf.TensorArray(tf.float32, 12)
    for i in tf.range(12):
        out = out.write(i, tf.nn.relu(tf.linalg.matvec(W[:16, :16], x[i, :16])))
    return out.stack()


@tf.function
def mapped(x):
    return tf.map_fn(lambda row: tf.reduce_max(row) - tf.reduce_min(row), x)


@tf.function
def products(x):
    """Each step of the loop has work of its own."""
    for _ in tf.range(8):
        x = tf.nn.relu(tf.matmul(x, W))
    return x


@tf.function
def few(x):
    """A short loop beside a lot of work."""
    total = tf.constant(0.0)
    for i in tf.range(3):
        total += x[i, 0]
    for _ in range(8):
        x = tf.nn.relu(tf.matmul(x, W))
    return total + tf.reduce_sum(x)


@tf.function
def recurrent(x):
    """Tiny products, each of which needs the one before."""
    h = x[:2, :16]
    for _ in tf.range(12):
        h = tf.tanh(tf.matmul(h, W[:16, :16]))
    return h


@tf.function
def updates(x):
    """Steps of training, each of which needs the variable that the one before updated."""
    for i in tf.range(12):
        B.assign_sub(0.1 * (B - x[i, :16]))
    return B.read_value()


def lstm():
    """Keras' LSTM with its defaults, trained."""
    model = tf.keras.Sequential(
        [tf.keras.Input((10, 32)), tf.keras.layers.LSTM(64), tf.keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    data = tf.data.Dataset.from_tensors((tf.ones((64, 10, 32)), tf.ones((64, 1)))).repeat(3)
    model.fit(data.cache().prefetch(2), verbose=0)


if KIND == "lstm":
    lstm()
else:
    step = {each.__name__: each for each in (sums, rows, mapped, products, few, recurrent, updates)}[KIND]
    x = tf.ones((256 if KIND in ("products", "few") else 16, 256))
    for _ in range(5):
        step(x)
