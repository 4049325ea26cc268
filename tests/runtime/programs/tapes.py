# ruff: noqa
"""Gradients: tapes, nested and persistent, inside functions and around them, custom ones."""

import re

import tensorflow as tf


def tried(label, attempt):
    try:
        print(label, attempt())
    except Exception as error:
        print(label, "raises", type(error).__name__, "|", str(error).split("\n")[0][:120])


x, y = tf.constant(3.0), tf.constant(2.0)
with tf.GradientTape(persistent=True) as tape:
    tape.watch([x, y])
    z = x * x * y
    w = z + tf.sin(x)
print(tape.gradient(z, x), tape.gradient(w, [x, y]), tape.gradient(z, {"x": x, "y": y}))
print(tape.gradient([z, w], x), tape.gradient(z, x, output_gradients=tf.constant(10.0)))
del tape

with tf.GradientTape() as tape:
    tape.watch(x)
    z = x * x
tape.gradient(z, x)
tried("used up", lambda: tape.gradient(z, x))

with tf.GradientTape() as tape:
    tape.watch(x)
    z = y * y
print(tape.gradient(z, x))
with tf.GradientTape() as tape:
    tape.watch(x)
    z = y * y
print(tape.gradient(z, x, unconnected_gradients=tf.UnconnectedGradients.ZERO))
with tf.GradientTape() as tape:
    tape.watch(x)
    z = tf.stop_gradient(x * x) * x
print(tape.gradient(z, x))
with tf.GradientTape() as tape:
    tape.watch(x)
    with tape.stop_recording():
        q = x * x
    z = x + q
print(tape.gradient(z, x))
with tf.GradientTape() as tape:
    tape.watch(x)
    first = x * x
    tape.reset()
    tape.watch(x)
    z = x * 5.0
print(tape.gradient(z, x))

with tf.GradientTape(watch_accessed_variables=False) as tape:
    v = tf.Variable(2.0)
    tape.watch(v)
    z = v * v
print(tape.gradient(z, v), tape.watched_variables()[0].numpy())

n = tf.constant(2)
with tf.GradientTape() as tape:
    tape.watch(x)
    z = tf.cast(tf.cast(x, tf.int32), tf.float32) * x
print(tape.gradient(z, x))


def cube(x):
    return x * x * x


def nth(function, order):
    if order == 0:
        return function

    def derivative(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = nth(function, order - 1)(x)
        return tape.gradient(y, x)

    return derivative


print([nth(cube, order)(x) for order in range(4)])
print([tf.function(nth(cube, order))(x) for order in range(4)])
print([nth(tf.function(cube), order)(x) for order in range(4)])

matrix = tf.constant([[1.0, 2.0], [3.0, 4.0]])
with tf.GradientTape(persistent=True) as tape:
    tape.watch(matrix)
    squared = tf.tanh(matrix) @ tf.transpose(matrix)
    total = tf.reduce_sum(squared, axis=0)
print(
    tape.jacobian(total, matrix, experimental_use_pfor=False).shape
    if False
    else tape.gradient(total, matrix)
)

forward = tf.function(lambda x, w: tf.nn.relu(tf.matmul(x, w)) ** 2.0)
weights = tf.Variable([[1.0, -1.0], [0.5, 2.0]])
with tf.GradientTape() as outer:
    with tf.GradientTape() as inner:
        loss = tf.reduce_mean(forward(matrix, weights))
    gradient = inner.gradient(loss, weights)
    norm = tf.reduce_sum(gradient**2.0)
print(gradient, outer.gradient(norm, weights))


@tf.custom_gradient
def clipped(x):
    def backward(upstream):
        return tf.clip_by_value(upstream, -1.0, 1.0)

    return x * 10.0, backward


with tf.GradientTape() as tape:
    tape.watch(x)
    z = clipped(x) * 5.0
print(z, tape.gradient(z, x))


@tf.function
def through_custom(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = clipped(x) * 0.25
    return tape.gradient(z, x)


print(through_custom(x))


@tf.custom_gradient
def two_in_two_out(a, b):
    def backward(da, db):
        return da * 2.0, db * 3.0

    return (a + b, a * b), backward


with tf.GradientTape() as tape:
    tape.watch([x, y])
    s, p = two_in_two_out(x, y)
    z = s + p
print(tape.gradient(z, [x, y]))


@tf.function
def symbolic(x):
    y = x * x + tf.sin(x)
    return tf.gradients(y, x)[0]


print(symbolic(x))

params = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
with tf.GradientTape() as tape:
    rows = tf.gather(params, [0, 2, 0])
    z = tf.reduce_sum(rows * rows)
sparse = tape.gradient(z, params)
print(type(sparse).__name__, sparse.indices.numpy(), sparse.values.numpy())
print(tf.convert_to_tensor(sparse).numpy())

tried("not a tensor", lambda: tf.GradientTape().__enter__().watch(3.0))
with tf.GradientTape() as tape:
    tape.watch(x)
    print(tape.gradient(x * x, x))
