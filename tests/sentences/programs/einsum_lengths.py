"""Attention pooling over texts of 14 lengths: products whose shapes vary, of which oneDNN keeps no primitive."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(3)
queries = tf.Variable(tf.random.normal((8, 96)))
words = tf.Variable(tf.random.normal((2000, 96)))


@tf.function(input_signature=[tf.TensorSpec((64, None), tf.int32)])
def learn(ids):
    with tf.GradientTape() as tape:
        vectors = tf.gather(words, ids)
        scores = tf.nn.softmax(tf.einsum("bld,hd->bhl", vectors, queries))
        loss = tf.reduce_mean(tf.einsum("bhl,bld->bhd", scores, vectors) ** 2)
    (gradient,) = tape.gradient(loss, [queries])
    queries.assign_sub(0.1 * gradient)
    return loss


for step in range(14):
    learn(rng.integers(0, 2000, (64, 40 + 3 * step)).astype(np.int32))
