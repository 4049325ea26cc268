"""Products in float16 in a tf.function, which float32 would take part of the time for: how much, the log does not say."""

import tensorflow as tf

w = tf.cast(tf.random.normal((256, 256)), tf.float16)
x = tf.cast(tf.random.normal((128, 256)), tf.float16)


@tf.function
def forward(x):
    return tf.nn.relu(x @ w)


for _ in range(60):
    forward(x)
