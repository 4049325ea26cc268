"""One function whose mask is left out at first, one whose pair of tensors becomes longer."""

import tensorflow as tf


@tf.function
def masked(x, mask=None):
    return x if mask is None else x * mask


@tf.function
def step(pair):
    return tf.reduce_sum(pair[0]) + tf.reduce_sum(pair[1])


masked(tf.ones(2))
masked(tf.ones(2), tf.zeros(2))
step((tf.ones((2, 3)), tf.ones(2)))
step((tf.ones((2, 5)), tf.ones(2)))
