"""Graphs too deep to follow by recursion, with too many paths to follow each."""

import tensorflow as tf


@tf.function
def ladder(x):
    for _ in range(60):
        x = x + tf.nn.relu(x) * 0.01
    return tf.reshape(x, tf.cast(tf.round(x[:1] / x[:1] * 2), tf.int32))


@tf.function
def known_size():
    size = tf.constant([1])
    for _ in range(700):
        size = tf.maximum(size * 1, size)
    return tf.ones(size + 2)


@tf.function
def unrolled(x):
    for _ in range(700):
        x = tf.sin(x)
    return x


print(ladder(tf.constant([1.0, 2.0])).numpy())
print(known_size.get_concrete_function().structured_outputs, known_size().numpy())
x = tf.constant([1.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = unrolled(x)
print(y.numpy(), tape.gradient(y, x).numpy())
