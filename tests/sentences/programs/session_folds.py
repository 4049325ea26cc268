"""A session of TensorFlow 1: a shape is computed of constants while the graph is built."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.constant(np.ones((6, 4), "float32"))
y = tf.reshape(x, tf.stack([tf.shape(x)[0] * 2, -1]))
total = tf.reduce_sum(y)
with tf.Session() as session:
    for _ in range(3):
        session.run(total)
