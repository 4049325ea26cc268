"""A py_function that runs eight eager ops; the argument `graph` runs them in the graph."""

import sys
import time

import tensorflow as tf


def clipped(x):
    for _ in range(4):
        x = tf.minimum(tf.maximum(x, -1.0), 1.0)
    return x


@tf.function
def step(x):
    if sys.argv[1] == "graph":
        x = clipped(x)
    else:
        x = tf.py_function(clipped, [x], tf.float32)
    return tf.reduce_sum(x * 1.01)


x = tf.ones([32, 64])
step(x)
began = time.perf_counter()
for _ in range(60):
    step(x)
print(f"{(time.perf_counter() - began) * 1000:.1f} ms")
