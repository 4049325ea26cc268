"""Weighs the edges of a graph by their degree in each `step`, or `before`."""

import sys

import tensorflow as tf

NODES, EDGES = 3000, 60_000
pairs = tf.random.stateless_uniform((EDGES, 2), (1, 2), 0, NODES, tf.int64)
graph = tf.sparse.reorder(tf.SparseTensor(pairs, tf.ones(EDGES), (NODES, NODES)))
values = tf.random.normal((NODES, 8))
weights = tf.Variable(tf.random.normal((8, 4)))


def weighed(graph):
    looped = tf.sparse.add(graph, tf.sparse.eye(NODES))
    degree = tf.math.unsorted_segment_sum(looped.values, looped.indices[:, 0], NODES)
    return looped.with_values(looped.values / tf.gather(degree, looped.indices[:, 0]))


known = weighed(graph)


@tf.function
def step():
    edges = known if sys.argv[1] == "before" else weighed(graph)
    with tf.GradientTape() as tape:
        loss = tf.nn.l2_loss(tf.sparse.sparse_dense_matmul(edges, values @ weights))
    weights.assign_sub(1e-4 * tape.gradient(loss, weights))
    return loss


for _ in range(20):
    step()
