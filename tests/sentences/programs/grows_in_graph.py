"""A loop of a graph keeps all steps of a path: with tf.concat, in a TensorArray, or to read them."""

import sys

import tensorflow as tf

mode = sys.argv[1]


@tf.function
def price(spot):
    step = tf.fill([20_000], spot)
    if mode == "array":
        path = tf.TensorArray(tf.float32, 60)
        for day in tf.range(60):
            step *= 1.0001
            path = path.write(day, step)
        return tf.reduce_mean(path.stack())
    path = step[None]
    for _ in tf.range(60):
        tf.autograph.experimental.set_loop_options(
            shape_invariants=[(path, tf.TensorShape([None, 20_000]))]
        )
        if mode == "reads":
            step = step + tf.reduce_mean(path, 0)
        step *= 1.0001
        path = tf.concat([path, step[None]], 0)
    return tf.reduce_mean(path)


for number in range(4):
    price(tf.constant(100.0 + number))
