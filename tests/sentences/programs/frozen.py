"""One file of PyInstaller: Python without the hook of `record`."""

import tensorflow as tf


@tf.function(autograph=False)
def step(x):
    return tf.reduce_sum(tf.nn.relu(tf.matmul(x, x)))


for number in range(3):
    print(float(step(tf.ones([64, 64]) * number)))
    tf.add(number, 1)
