"""TensorFlow Probability calls a function of the program, with vectors of five lengths."""

import tensorflow as tf
import tensorflow_probability as tfp


@tf.function
def loss(x):
    return tf.reduce_sum(x)


for length in range(1, 6):
    tfp.math.value_and_gradient(loss, tf.ones([length]))
