# ruff: noqa
"""What the questions and answers ask and claim: `seeds/000_aad5b61eedb5cd4d.txt` (ops run eagerly
before a fitted model runs as a graph), `seeds/002_77037fc3362732a0.txt` (what is traced, and when),
`seeds/004_5d83aefeab0c8f6e.txt` (one way for eager execution and graphs)."""

import tensorflow as tf


# 000: AddV2 eagerly first, then in a graph.
def normalised(x, gamma, beta):
    mean = tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), axis=-1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-6) * gamma + beta


x = tf.constant([[1.0, 2.0, 4.0]])
print(normalised(x, 2.0, 1.0).numpy())
print(tf.function(normalised)(x, 2.0, 1.0).numpy())


# 002: a function without the decorator is traced with the one that calls it.
def helper(x):
    print("helper runs as Python; eagerly:", tf.executing_eagerly())
    return x + 1.0


@tf.function
def outer(x):
    return helper(x) * 2.0


print(outer(tf.constant(1.0)).numpy())  # traced: helper's print is seen
print(outer(tf.constant(2.0)).numpy())  # not again
print(helper(tf.constant(1.0)).numpy())  # eagerly: each time


@tf.function
def back_to_python(x):
    return tf.py_function(helper, [x], tf.float32)


print(back_to_python(tf.constant(5.0)).numpy())


# 004: tapes are a stack, in eager execution and in a function alike.
def second_derivative(x):
    with tf.GradientTape() as outer_tape:
        outer_tape.watch(x)
        with tf.GradientTape() as inner_tape:
            inner_tape.watch(x)
            y = x * x * x
        first = inner_tape.gradient(y, x)
    return first, outer_tape.gradient(first, x)


print([value.numpy().tolist() for value in second_derivative(tf.constant(2.0))])
print([value.numpy().tolist() for value in tf.function(second_derivative)(tf.constant(2.0))])
