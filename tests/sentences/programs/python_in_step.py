"""py_function and numpy_function inside a train step; the data come from a generator."""
import truth
import numpy as np
import tensorflow as tf

w = tf.Variable(tf.random.stateless_normal((16, 4), seed=(1, 2)))


def clip(g):
    """Runs eagerly inside the graph: three ops."""
    with truth.phase("py_function body"):
        truth.asked("Square"), truth.asked("Sum"), truth.asked("Minimum")
        return tf.minimum(g, tf.reduce_sum(tf.square(g)))


def numpy_norm(x):
    with truth.phase("numpy_function body"):
        return (x / (1e-6 + np.abs(x).max())).astype(np.float32)


@tf.function
def step(x):
    truth.traced("step")
    x = tf.ensure_shape(tf.numpy_function(numpy_norm, [x], tf.float32), (8, 16))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
    g = tf.py_function(clip, [tape.gradient(loss, w)], tf.float32)
    w.assign_sub(0.1 * tf.ensure_shape(g, (16, 4)))
    return loss


def batches():
    rng = np.random.default_rng(0)
    for _ in range(6):
        yield rng.normal(size=(8, 16)).astype("float32")


data = tf.data.Dataset.from_generator(batches, output_signature=tf.TensorSpec((8, 16), tf.float32))
for x in data:
    with truth.call("step"):
        step(x)
truth.known("healthy; 6 steps, each with one py_function (3 eager ops) and one numpy_function; the generator ended", failures=0, steps=6)
