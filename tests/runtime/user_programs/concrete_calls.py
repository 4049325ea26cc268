"""Concrete functions, called with what fits and what does not; signatures of methods."""

import tensorflow as tf


def tell(call):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, str(error)[:300])


@tf.function
def power(a, b=2):
    return a**b


square = power.get_concrete_function(a=tf.TensorSpec(None, tf.float32), b=2)
ten = tf.constant(10.0)
tell(lambda: square(ten))
tell(lambda: square(ten, b=2))
tell(lambda: square(ten, b=3))
tell(lambda: square(10.0, 2.0, 3))
tell(lambda: square(a=10.0))
tell(lambda: square())
tell(lambda: square(ten, c=3))
tell(lambda: square([1.0, 2.0]))


class Net(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def __call__(self, x):
        return x + 1

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.int32)])
    def times(self, x, k=1):
        return x * tf.cast(k, tf.float32)


net = Net()
tell(lambda: net(4.0))
tell(lambda: net([1.0]))
tell(lambda: net.times([1.0], 3))
print(net.times.get_concrete_function().structured_input_signature)

x = tf.ones((2, 3))
tell(lambda: tf.debugging.assert_rank_in(x, (1, 3)))
tell(lambda: tf.debugging.assert_rank_in(x, (1, 2)))
tell(lambda: tf.debugging.assert_integer(x, "whole"))
tell(lambda: tf.debugging.assert_integer(1))
tell(lambda: tf.debugging.assert_shapes([(x, ("N", "N"))]))
tell(lambda: tf.debugging.assert_shapes([(x, ("N", "M")), (tf.ones((3, 4)), ("N", "Q"))]))
tell(lambda: tf.debugging.assert_shapes([(x, (2, 4))]))
print(tf.int32.limits, tf.float32.limits, tf.bool.limits)


@tf.function
def through_python(a):
    print(tf.numpy_function(lambda v: v, [a], tf.float32))
    return tf.py_function(lambda v: v, [a], tf.float32)


print(through_python(tf.constant(1.0)))
print(tf.keras.metrics.MeanAbsoluteError("mae").name, tf.keras.metrics.BinaryAccuracy("b").name)
print(tf.keras.metrics.TopKCategoricalAccuracy(3, "top").name)
