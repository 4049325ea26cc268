"""Logits of all positions, of which a few are then taken: no table is updated."""

import tensorflow as tf

weights = tf.Variable(tf.random.normal((32, 64), stddev=0.1))


@tf.function
def step(x, places):
    with tf.GradientTape() as tape:
        logits = x @ weights
        loss = tf.reduce_mean(tf.square(tf.gather(logits, places)))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))


for turn in range(20):
    places = tf.random.uniform((256,), maxval=4096, dtype=tf.int32)
    step(tf.random.normal((4096, 32)), places)
