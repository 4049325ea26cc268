"""Some rows of a table change in each call: by a copy of all of it (`scatter`), or `in_place`."""

import sys

import tensorflow as tf

ROWS, SIZE = 200_000, 16
table = tf.Variable(tf.zeros((ROWS, SIZE)))


@tf.function
def update(rows, values):
    before = tf.gather(table, rows)
    after = tf.tanh(before + values)
    if sys.argv[1] == "scatter":
        table.assign(tf.tensor_scatter_nd_update(table, rows[:, None], after))
    else:
        table.scatter_nd_update(rows[:, None], after)
    return tf.reduce_sum(after)


for turn in range(30):
    update(tf.range(turn, turn + 64), tf.fill([64, SIZE], float(turn)))
