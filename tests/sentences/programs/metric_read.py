"""A step in a tf.function; after each epoch two metrics are read, and the program asks for one op of its own, a root."""

import numpy as np
import tensorflow as tf

x = np.ones((32, 8), "float32")
w = tf.Variable(tf.ones((8, 1)))
mean, rmse = tf.keras.metrics.Mean(), tf.keras.metrics.RootMeanSquaredError()


@tf.function
def step(a):
    w.assign_sub(0.01 * tf.reduce_mean(a, 0)[:, None])
    out = tf.matmul(a, w)
    mean.update_state(out)
    rmse.update_state(tf.zeros_like(out), out)


for epoch in range(3):
    mean.reset_state()
    rmse.reset_state()
    for _ in range(2):
        step(x)
    print(float(rmse.result()))
    read = mean.result()
    tf.math.sqrt(read)
