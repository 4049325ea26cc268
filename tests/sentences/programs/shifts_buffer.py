"""A buffer of rows gets one more in each call: by a `concat` of the others and it, or `in_place`."""

import sys

import tensorflow as tf

ROWS, SIZE = 200_000, 16
buffer = tf.Variable(tf.zeros((ROWS, SIZE)))
count = tf.Variable(0)


@tf.function
def add(row):
    if sys.argv[1] == "concat":
        buffer.assign(tf.concat([buffer[1:], row[None]], axis=0))
    else:
        buffer[count % ROWS].assign(row)
    count.assign_add(1)


@tf.function
def sample():
    return tf.reduce_sum(tf.gather(buffer, tf.random.uniform([64], 0, ROWS, tf.int32)))


for turn in range(30):
    add(tf.fill([SIZE], float(turn)))
    sample()
