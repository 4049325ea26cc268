# ruff: noqa
"""The programs of the guide, `seeds/001_8168e4ae75ad00ec.txt`, as printed there (its line breaks, lost
in the document, put back)."""

import timeit
from datetime import datetime

import tensorflow as tf


# Define a Python function.
def a_regular_function(x, y, b):
    x = tf.matmul(x, y)
    x = x + b
    return x


# The Python type of `a_function_that_uses_a_graph` will now be a
# `PolymorphicFunction`.
a_function_that_uses_a_graph = tf.function(a_regular_function)

# Make some tensors.
x1 = tf.constant([[1.0, 2.0]])
y1 = tf.constant([[2.0], [3.0]])
b1 = tf.constant(4.0)

orig_value = a_regular_function(x1, y1, b1).numpy()
# Call a `tf.function` like a Python function.
tf_function_value = a_function_that_uses_a_graph(x1, y1, b1).numpy()
assert orig_value == tf_function_value


@tf.function
def my_relu(x):
    return tf.maximum(0.0, x)


# `my_relu` creates new graphs as it observes different input types.
print(my_relu(tf.constant(5.5)))
print(my_relu([1, -1]))
print(my_relu(tf.constant([3.0, -3.0])))

# These two calls do *not* create new graphs.
print(my_relu(tf.constant(-2.5)))  # Input type matches `tf.constant(5.5)`.
print(my_relu(tf.constant([-1.0, 1.0])))  # Input type matches `tf.constant([3., -3.])`.


def unused_return_eager(x):
    # Get index 1 will fail when `len(x) == 1`
    tf.gather(x, [1])  # unused
    return x


try:
    print(unused_return_eager(tf.constant([0.0])))
except tf.errors.InvalidArgumentError as e:
    # All operations are run during eager execution so an error is raised.
    print(f"{type(e).__name__}: {e}")


@tf.function
def unused_return_graph(x):
    tf.gather(x, [1])  # unused
    return x


# Only needed operations are run during graph execution. The error is not raised.
print(unused_return_graph(tf.constant([0.0])))

x = tf.random.uniform(shape=[10, 10], minval=-1, maxval=2, dtype=tf.dtypes.int32)


def power(x, y):
    result = tf.eye(10, dtype=tf.dtypes.int32)
    for _ in range(y):
        result = tf.matmul(x, result)
    return result


eager = timeit.timeit(lambda: power(x, 100), number=1)
power_as_graph = tf.function(power)
graph = timeit.timeit(lambda: power_as_graph(x, 100), number=1)
print("Eager execution:", type(eager).__name__, "seconds")
print("Graph execution:", type(graph).__name__, "seconds")
assert (power(x, 100).numpy() == power_as_graph(x, 100).numpy()).all()


@tf.function
def a_function_with_python_side_effect(x):
    print("Tracing!")  # An eager-only side effect.
    return x * x + tf.constant(2)


# This is traced the first time.
print(a_function_with_python_side_effect(tf.constant(2)))
# The second time through, you won't see the side effect.
print(a_function_with_python_side_effect(tf.constant(3)))

# This retraces each time the Python argument changes,
# as a Python argument could be an epoch count or other
# hyperparameter.
print(a_function_with_python_side_effect(2))
print(a_function_with_python_side_effect(3))
