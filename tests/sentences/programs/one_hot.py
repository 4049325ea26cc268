"""One-hot vectors in a tf.function: a `product` or `einsum` with a table, which `trains`; or of ten `classes`, `sums` of rows, a `loss`."""

import sys
import time

import tensorflow as tf

how = sys.argv[1]
rows = 10 if how == "classes" else 8000
table = tf.Variable(tf.ones([rows, 32]))
ids = tf.range(256) % rows


@tf.function
def call(ids):
    vectors = tf.one_hot(ids, rows)
    if how == "loss":
        return tf.nn.softmax_cross_entropy_with_logits(vectors, tf.ones([256, rows]))
    if how == "sums":
        return tf.matmul(vectors, tf.ones([256, 32]), transpose_a=True)
    if how == "einsum":
        return tf.einsum("iv,vd->id", vectors, table)
    if how == "gather":
        return tf.gather(table, ids)
    if how != "trains":
        return vectors @ table
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((tf.reshape(vectors, [-1, rows]) @ table) ** 2)
    table.assign_sub(0.1 * tape.gradient(loss, table))
    return loss


call(ids)
began = time.perf_counter()
for _ in range(12):
    call(ids)
print(f"{(time.perf_counter() - began) * 1e3:.1f} ms")
