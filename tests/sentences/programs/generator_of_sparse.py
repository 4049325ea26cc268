"""Generators of sparse tensors: one of NumPy arrays alone, and one that sorts them with an op."""

import sys

import numpy as np
import tensorflow as tf

INDICES, VALUES = np.array([[0, 0], [1, 2]]), np.array([1.0, 2.0], np.float32)


def generator():
    for _ in range(8):
        sparse = tf.SparseTensor(INDICES, VALUES, np.array([3, 4]))
        yield tf.sparse.reorder(sparse) if sys.argv[1] == "sorted" else sparse


elements = tf.data.Dataset.from_generator(
    generator, output_signature=tf.SparseTensorSpec([3, 4], tf.float32)
)
add = tf.function(lambda element: tf.sparse.reduce_sum(element))
for element in elements:
    add(element)
