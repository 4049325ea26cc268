"""Python's functions of iterables, of data sets in converted code."""

import tensorflow as tf

ds = tf.data.Dataset.from_tensor_slices(tf.reshape(tf.range(20.0), [5, 4])).batch(2)
flags = tf.data.Dataset.from_tensor_slices([True, False, True])


@tf.function
def total(ds):
    s = 0.0
    for step, x in enumerate(ds):
        if tf.reduce_sum(x) > 3.0:
            s += tf.reduce_mean(x) * tf.cast(step, tf.float32)
        else:
            s -= 1.0
    return s


@tf.function
def pairs(a, b):
    s = tf.constant(0.0)
    for x, y in zip(a, b):
        s += tf.reduce_sum(x * y)
    return s, len(a)


def double(v):
    return v * 2.0


@tf.function
def others(a):
    s = tf.constant(0.0)
    for x in map(double, a):
        s += tf.reduce_sum(x)
    for x in filter(lambda v: tf.reduce_sum(v) > 50.0, abs(a)):
        s += tf.reduce_max(x)
    return s


@tf.function
def truths(f):
    return any(f), all(f)


print(float(total(ds)), [float(x) for x in pairs(ds, ds)], float(others(ds)))
print([bool(x) for x in truths(flags)])


@tf.function
def plain(xs):
    return [i * x for i, x in enumerate(xs)], [a + b for a, b in zip(xs, xs)]


print(plain([tf.constant(1.0), tf.constant(2.0)]))


@tf.function
def count(ds):
    n = tf.constant(0, tf.int64)
    for i, _ in enumerate(ds, 5):
        n = i
    return n


print(count(ds))
try:
    truths(ds)
except ValueError as error:
    print("bool scalars" in str(error))
print(
    [each.__name__ for each in (tf.sin, tf.nn.relu, tf.math.logical_not, tf.reduce_sum, tf.cumsum)]
)
