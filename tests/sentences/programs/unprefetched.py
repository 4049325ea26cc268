"""A loop over a pipeline without a prefetch, which takes its time in a batch of many elements."""
import tensorflow as tf

data = tf.data.Dataset.range(1_200_000).batch(100_000)
weights = tf.ones([600, 600])


@tf.function
def step(numbers):
    total = tf.reduce_sum(numbers)
    return tf.linalg.matmul(weights, weights)[0, 0] + tf.cast(total, tf.float32)


for numbers in data:
    step(numbers)
