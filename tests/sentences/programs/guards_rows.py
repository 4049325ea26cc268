"""SGD over a table of 40,000 rows, whose gradient is kept finite: all of it, or its `rows`.

`added` adds up gradients first.
"""

import sys

import tensorflow as tf

table = tf.Variable(tf.random.normal((40_000, 32)))
added = tf.Variable(tf.zeros((40_000, 32)))


def finite(x):
    return tf.where(tf.math.is_finite(x), x, tf.zeros_like(x))


@tf.function
def step(ids):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.gather(table, ids)))
    gradient = tape.gradient(loss, table)
    if sys.argv[1] == "added":
        added.assign_add(gradient)
    elif sys.argv[1] == "rows":
        rows = finite(gradient.values)
        table.scatter_sub(tf.IndexedSlices(0.1 * rows, gradient.indices))
    else:
        table.assign_sub(0.1 * finite(tf.convert_to_tensor(gradient)))


for turn in range(20):
    step(tf.random.uniform((64,), maxval=40_000, dtype=tf.int32))
