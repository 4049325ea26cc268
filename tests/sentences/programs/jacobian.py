"""Jacobians and a vectorized map, op by op: TensorFlow makes functions named `f` for them, the program has none."""

import tensorflow as tf

w = tf.Variable(tf.ones((3, 3)))
for _ in range(3):
    with tf.GradientTape() as tape:
        y = tf.sin(w @ w)
    tape.jacobian(y, w)
tf.vectorized_map(lambda row: tf.reduce_sum(row * row), w)
