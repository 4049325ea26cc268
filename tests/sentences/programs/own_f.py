"""A function of the program named `f`, in which TensorFlow vectorizes a map, and a product after each of its calls."""

import tensorflow as tf

w = tf.Variable(tf.ones((3, 3)))


@tf.function
def f(x):
    return tf.vectorized_map(lambda row: tf.reduce_sum(row * row), x @ w)


for _ in range(4):
    tf.exp(f(w))
