"""Batches of ragged and sparse tensors, a compiled step for each, and text that tokenizes outside quotes."""

import tensorflow as tf

rows = tf.ragged.constant([[1.0, 2.0], [3.0], [4.0, 5.0, 6.0], [7.0]])
flags = tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 4.0]])
key = tf.constant(b"\n\x8a\x83\x80 no text")


@tf.function
def step(row, flag):
    with tf.device("CPU"):
        name = tf.strings.length(tf.strings.join([b"\n\x8a\x83\x80 no text", tf.strings.as_string(tf.size(flag.values))]))
    return tf.reduce_sum(row.flat_values) + tf.reduce_sum(flag.values) + tf.cast(name, tf.float32)


data = tf.data.Dataset.from_tensor_slices((rows, flags)).repeat(3).batch(2)
for row, flag in data:
    step(row, flag)
