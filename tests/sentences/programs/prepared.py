"""Eager ops make twelve variables and eight inputs, one like the other; then a function is called in a loop."""

import tensorflow as tf

tf.random.set_seed(1)
weights = []
for _ in range(12):
    drawn = tf.random.normal([64, 64]) * 0.1
    weights.append(tf.Variable(drawn - tf.reduce_mean(drawn)))
inputs = [tf.sqrt(tf.random.uniform([64, 64])) for _ in range(8)]


@tf.function
def step(x):
    for weight in weights:
        x = tf.nn.relu(x @ weight)
    return tf.reduce_sum(x)


for turn in range(20):
    step(inputs[turn % 8])
