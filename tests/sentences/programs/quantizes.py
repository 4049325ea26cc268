"""After training, evaluation quantizes the weights in each call (`call`), before it (`before`), or between steps of training (`between`)."""

import sys

import tensorflow as tf

WHEN = sys.argv[1]
weights = tf.Variable(tf.random.normal([600, 600]))
frozen = tf.Variable(tf.zeros([600, 600]), trainable=False)


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights)))
    weights.assign_sub(0.01 * tape.gradient(loss, weights))


@tf.function
def quantize():
    top = tf.reduce_max(tf.abs(weights), axis=0)
    return tf.quantization.fake_quant_with_min_max_vars_per_channel(weights, -top, top)


@tf.function
def evaluate(x):
    return tf.reduce_sum(tf.matmul(x, frozen if WHEN == "before" else quantize()))


x = tf.random.normal([32, 600])
for turn in range(40):
    if WHEN == "between" or turn < 10:
        train(x)
    if WHEN == "before" and turn == 10:
        frozen.assign(quantize())
    if turn >= 10:
        evaluate(x)
