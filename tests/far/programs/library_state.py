"""A library traces a step twice, first without a state, then with one; a step of the program's own runs in a loop."""

import tensorflow as tf
import tensorflow_probability as tfp
import tf_keras

size = tf.Variable(3.0)
place = tf.Variable([1.0, 2.0])


@tf.function
def warm(x):
    return x * 2.0


warm(place)
losses = tfp.math.minimize(
    lambda: tf.reduce_sum(tf.square(place - size)),
    num_steps=12,
    optimizer=tf_keras.optimizers.legacy.SGD(0.1),
    trainable_variables=[size, place],
)
