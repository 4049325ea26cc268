"""Rows of a table, summed: by a product of sums of one-hot vectors; or vectors that are counted."""

import sys

import tensorflow as tf

ROWS, WIDTH = 20_000, 32
table = tf.Variable(tf.random.stateless_normal((ROWS, WIDTH), (1, 2)))
counts = tf.Variable(tf.zeros((ROWS,)))


@tf.function
def multiply(rows):
    return tf.reduce_sum(tf.one_hot(rows, ROWS), axis=1) @ table


@tf.function
def count(rows):
    counts.assign_add(tf.reduce_sum(tf.one_hot(rows, ROWS), axis=[0, 1]))
    return tf.reduce_sum(tf.gather(table, rows), axis=1)


run = multiply if sys.argv[1] == "product" else count
for i in range(30):
    run(tf.random.stateless_uniform((16, 10), (i, i), maxval=ROWS, dtype=tf.int32))
