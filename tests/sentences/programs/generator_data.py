"""tf.data from a Python generator, read by a tf.function that loops over the data set itself, and by a loop outside."""
import truth
import numpy as np
import tensorflow as tf


def samples():
    rng = np.random.default_rng(0)
    for _ in range(20):
        yield rng.normal(size=(8,)).astype("float32"), np.int32(rng.integers(3))


spec = (tf.TensorSpec((8,), tf.float32), tf.TensorSpec((), tf.int32))
data = tf.data.Dataset.from_generator(samples, output_signature=spec).batch(5).prefetch(2)
w = tf.Variable(tf.random.stateless_normal((8, 3), seed=(1, 2)))


@tf.function
def step(x, label):
    truth.traced("step")
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(label, tf.matmul(x, w)))
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


@tf.function
def whole_epoch(data):
    truth.traced("whole_epoch")
    total = 0.0
    for x, label in data:
        total += tf.reduce_sum(tf.matmul(x, w))
    return total


for epoch in range(2):
    for x, label in data:
        with truth.call("step"):
            step(x, label)
with truth.call("whole_epoch"):
    whole_epoch(data)
with truth.call("whole_epoch"):
    whole_epoch(data)
truth.known("healthy: generators end by StopIteration, iterators by OUT_OF_RANGE, four times over", failures=0, steps=8)
