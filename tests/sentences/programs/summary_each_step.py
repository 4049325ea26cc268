"""A summary of the loss after each of 12 steps, written eagerly (with tensorboard 2.x)."""

import tempfile

import tensorflow as tf

w = tf.Variable(tf.ones((64, 64)))


@tf.function
def train(x):
    return tf.reduce_mean(tf.nn.tanh(x @ w))


x = tf.ones((32, 64))
with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    for step in range(12):
        loss = train(x)
        tf.summary.scalar("loss", loss, step=step)
        tf.summary.histogram("w", w, step=step)
