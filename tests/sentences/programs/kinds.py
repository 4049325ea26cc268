"""Functions that get a dense tensor, then a sparse one or a variable of its type and shape; one that gets sparse ones of two sizes."""

import tensorflow as tf


@tf.function
def summed(x):
    return tf.reduce_sum(x) if isinstance(x, tf.Tensor) else tf.sparse.reduce_sum(x)


@tf.function
def more(x):
    return x + 1.0


@tf.function
def sized(x):
    return tf.sparse.reduce_sum(x)


summed(tf.ones(3))
summed(tf.sparse.from_dense(tf.ones(3)))
more(tf.ones(3))
more(tf.Variable(tf.ones(3)))
for size in (2, 4):
    sized(tf.sparse.from_dense(tf.ones(size)))
