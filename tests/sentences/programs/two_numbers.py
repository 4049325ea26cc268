"""Both a Python int and a Python float change from call to call."""

import tensorflow as tf

w = tf.Variable(tf.random.normal([32, 32]))


@tf.function
def step(x, turn, rate):
    return tf.reduce_sum(x @ w) * rate + turn


x = tf.ones([8, 32])
for turn in range(5):
    step(x, turn, 0.1 / (turn + 1))
