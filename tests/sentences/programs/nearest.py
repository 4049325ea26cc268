"""Of 600 points the `distance` to 60 learned centers, or their `score`; as a `matmul`; a `force`.

`force` needs the differences themselves, and `mean` weighs rows by an axis inserted behind.
`loop` computes distances for each element of a dataset, inside of a function.
"""

import sys

import tensorflow as tf

points = tf.random.normal((600, 32))
centers = tf.Variable(tf.random.normal((60, 32)))


def compare(x, c):
    if sys.argv[1] in ("distance", "loop"):
        return tf.reduce_sum(tf.square(x[:, None, :] - c), axis=-1)
    if sys.argv[1] == "score":
        tiled = tf.tile(tf.expand_dims(x, 1), [1, 60, 1])
        return tf.reduce_sum(tiled * c[None], axis=2)
    if sys.argv[1] == "force":
        difference = x[:, None, :] - c
        distance = tf.reduce_sum(difference**2, axis=-1)
        return tf.reduce_sum(difference / (1.0 + distance[:, :, None]), axis=1)
    if sys.argv[1] == "mean":
        weights = tf.nn.softmax(tf.matmul(x, c, transpose_b=True))
        rows = tf.tile(x[:, None, :], [1, 60, 1])
        return tf.reduce_sum(rows * weights[:, :, None], axis=1)
    return tf.reduce_sum(x * x, -1)[:, None] - 2.0 * tf.matmul(x, c, transpose_b=True)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.reduce_min(compare(x, centers), axis=1))
    centers.assign_sub(0.1 * tape.gradient(loss, centers))
    return loss


@tf.function
def evaluate(data):
    total = 0.0
    for x in data:
        total += tf.reduce_sum(tf.reduce_min(compare(x, centers), axis=1))
    return total


if sys.argv[1] == "loop":
    for _ in range(3):
        evaluate(tf.data.Dataset.from_tensors(points).repeat(10))
else:
    for _ in range(20):
        step(points)
