"""A program that ends while tf.data still gets elements from a generator."""

import tensorflow as tf


def numbers():
    for number in range(1000):
        yield float(number)


data = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec([])).prefetch(2)
elements = iter(data)
print(sum(float(next(elements)) for _ in range(30)))
