"""Products in float64, which comes from one line or from two: the argument says which."""

import sys

import numpy as np
import tensorflow as tf

KIND = sys.argv[1]
numbers = np.random.default_rng(0).normal(size=(512, 512))
single = tf.Variable(numbers.astype(np.float32))
table = tf.Variable(numbers) if KIND in ("variable", "two") else single
other = tf.Variable(numbers + 1.0) if KIND == "two" else table


@tf.function
def step(x):
    if KIND == "cast":
        x = tf.cast(x, tf.float64)
        product = x @ x
    elif KIND == "given":
        product = x @ x
    else:
        product = tf.cast(x, tf.float64) @ table
    if KIND == "two":
        product += tf.cast(x, tf.float64) @ other
    return tf.reduce_mean(tf.square(product))


given = tf.constant(numbers if KIND == "given" else numbers.astype(np.float32))
for _ in range(10):
    value = step(given)
print(value.dtype, np.isfinite(float(value)))
