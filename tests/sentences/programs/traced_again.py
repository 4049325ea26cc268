"""Functions that are traced again, each for a reason of its own, and two that are not."""

import tensorflow as tf


@tf.function
def counted(x, step):
    return x * float(step)


@tf.function
def batched(x):
    return tf.reduce_sum(x)


@tf.function
def growing(items):
    return tf.add_n(items)


@tf.function
def both(x, training=False):
    return x * 2 if training else x


@tf.function
def looped(iterator):
    return tf.reduce_mean(next(iterator))


class Setting:
    pass


@tf.function
def configured(x, setting):
    return x + 1


@tf.function
def mapped(values):
    return sum(values.values())


def scale(x):
    return x * 3


def layer(size):
    return tf.function(lambda x: tf.reshape(x, (size, -1)))


class Model(tf.Module):
    @tf.function
    def call(self, x):
        return tf.tanh(x)


x = tf.ones((4, 8))
for step in range(3):
    counted(x, step)
for size in (16, 32):
    batched(tf.ones((size, 2)))
for size in range(1, 7):
    growing([x] * size)
both(x)
both(tf.cast(x, tf.float64), training=True)
for size in (3, 5):
    looped(iter(tf.data.Dataset.range(30).batch(size, drop_remainder=True)))
for _ in range(2):
    configured(x, Setting())
mapped({"a": x})
mapped({"b": x, "a": x})
for _ in range(6):
    tf.function(scale)(x)
for size in (2, 4):
    layer(size)(x)
for model in (Model(), Model()):
    model.call(x)
    model.call(x)
