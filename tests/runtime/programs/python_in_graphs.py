# ruff: noqa
"""Python inside graphs: `py_function` and `numpy_function`, their errors and gradients."""

import numpy as np
import tensorflow as tf


def tried(label, attempt):
    try:
        print(label, attempt())
    except Exception as error:
        lines = [line.strip() for line in str(error).split("\n") if line.strip()]
        lines = [line.split("}} ")[-1] for line in lines if "Error: " in line] or lines
        print(label, "raises", type(error).__name__, "|", lines[0][:110])


def python(x):
    print("python sees", type(x).__name__, tf.executing_eagerly(), x.numpy())
    return x * x if x.numpy() > 2 else x


@tf.function
def wraps(x):
    return tf.py_function(python, [x], tf.float32) + 1.0


print(wraps(tf.constant(3.0)).numpy(), wraps(tf.constant(1.0)).numpy())
x = tf.constant(3.0)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = wraps(x)
print(tape.gradient(y, x).numpy())


@tf.function
def numpy_in_graph(x):
    result = tf.numpy_function(lambda a: np.sinh(a), [x], tf.float32)
    print("shape while tracing:", result.shape)
    return result


print(numpy_in_graph(tf.constant([1.0, 2.0])).numpy())
print(
    tf.py_function(
        lambda a, b: (a + b, a * b), [tf.constant(2), tf.constant(3)], [tf.int32, tf.int32]
    )
)


@tf.function
def divides(x):
    return tf.py_function(lambda x: 1 // 0, [x], tf.int32)


tried("python error", lambda: divides(x))
tried("value error", lambda: tf.numpy_function(lambda x: [].pop(), [x], tf.float32))
