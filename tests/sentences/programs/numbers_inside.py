"""Retraces because of numbers in a dictionary, of its keys and of a list; a moving average of variables beside a step; a cache
in front of the map that costs."""
import tensorflow as tf

v = tf.Variable(tf.ones([64]))
mean = tf.Variable(tf.ones([64]))


@tf.function
def weighed(x, factors):
    return x * factors["fit"] + factors["prior"]


@tf.function
def keyed(x, factors):
    return x * sum(factors.values())


@tf.function
def listed(x, sizes):
    return x * float(sizes[0] * sizes[1])


x = tf.ones([8])
for i in range(4):
    weighed(x, {"fit": 1.0, "prior": 0.5 * i})
    keyed(x, {f"k{i}": 1.0})
    listed(x, [2, i])


@tf.function
def step(x):
    v.assign(0.9 * v + x)
    return tf.reduce_sum(v)


def slow(x):
    for _ in range(3):
        x = tf.linalg.matmul(x, x) / 1024.0
    return x


data = tf.data.Dataset.from_tensor_slices(tf.ones([6, 1024, 1024])).cache().map(slow)
for epoch in range(4):
    for element in data:
        step(element[0, :64])
        mean.assign(0.99 * mean + 0.01 * v)
