"""Python code of some milliseconds between the eager ops of each of twelve rounds."""

import tensorflow as tf

import truth

x = tf.ones((64, 64))
for _ in range(12):
    y = tf.matmul(x, x).numpy()
    with truth.phase("python"):
        top = max(float(v) for row in y for v in row)
        rows = [[float(v) / top for v in row] for row in y]
    x = tf.nn.relu(tf.constant(rows) + 1.0)
