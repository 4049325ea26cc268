"""Ends with an exception that nobody catches."""

import tensorflow as tf


@tf.function
def f(x):
    return tf.gather(x, [5])


print(f(tf.constant([1, 2])))
