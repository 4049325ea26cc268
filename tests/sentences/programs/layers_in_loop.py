"""A tf.function whose Python loop runs 150 layers, each with weights of its own."""

import tensorflow as tf

layers = [tf.Variable(tf.ones([8, 8])) for _ in range(150)]


@tf.function
def deep(x):
    for weights in layers:
        x = x @ weights
        x = tf.nn.tanh(tf.tanh(x) * 0.5 + tf.nn.relu(x) * 0.1 + tf.sin(x) + tf.cos(x))
    return x


deep(tf.ones([4, 8]))
