"""A data set that is healthy at first and fails in the middle: elements of two sizes can't be batched."""
import truth
import numpy as np
import tensorflow as tf

w = tf.Variable(tf.ones((6, 4)))


@tf.function
def step(batch):
    truth.traced("step")
    return tf.reduce_sum(tf.matmul(batch, w))


def rows():
    for i in range(12):
        yield np.full((6 if i != 9 else 5,), i, "float32")


data = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((None,), tf.float32))
data = data.batch(4).map(lambda batch: tf.ensure_shape(batch, (None, 6)) * 2.0)
batches = 0
try:
    for batch in data:
        with truth.call("step"):
            step(batch)
        batches += 1
except tf.errors.InvalidArgumentError as error:
    truth.failed("third batch of the data set", error)
    print("caught", type(error).__name__)
truth.known("two batches came, the third failed: Cannot batch tensors with different shapes", batches=batches, failures=1)
