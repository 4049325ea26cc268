"""A checkpoint after each of twelve steps."""

import tempfile

import tensorflow as tf

import truth

weights = tf.Variable(tf.ones((64, 64)))
saver = tf.train.Checkpoint(weights=weights)


@tf.function
def step(x):
    weights.assign_sub(tf.matmul(x, weights) * 0.001)


x = tf.ones((64, 64))
step(x)
with tempfile.TemporaryDirectory() as folder:
    for _ in range(12):
        with truth.phase("step"):
            step(x)
        with truth.phase("save"):
            saver.write(folder + "/ckpt")
