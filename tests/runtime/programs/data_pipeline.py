"""tf.data: interleave, map, filter, shuffle, batch, prefetch; in Python, reduced, and inside a
function.
"""

import numpy as np
import tensorflow as tf

tf.random.set_seed(1)


def gen(i):
    return tf.data.Dataset.range(4).map(lambda j: tf.cast(i * 4 + j, tf.float32))


ds = tf.data.Dataset.range(6).interleave(gen, cycle_length=2, num_parallel_calls=2)
ds = ds.map(
    lambda v: (tf.nn.relu(tf.matmul(tf.fill((2, 2), v), tf.eye(2))), tf.cast(v > 4, tf.int32)),
    num_parallel_calls=tf.data.AUTOTUNE,
)
ds = ds.filter(lambda a, b: tf.reduce_sum(a) >= 8).shuffle(8, seed=1).batch(6).prefetch(2)
print(ds)
w = tf.Variable(tf.ones((2, 2)))


@tf.function
def step(a, b):
    with tf.GradientTape() as t:
        l = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                b, tf.reduce_mean(tf.matmul(a, tf.broadcast_to(w, (tf.shape(a)[0], 2, 2))), 1)
            )
        )
    w.assign_sub(0.01 * t.gradient(l, w))
    return l


n = 0
for a, b in ds:
    print(a.shape, b.numpy(), float(step(a, b)))
    n += 1
print(n, float(ds.reduce(np.float32(0), lambda acc, ab: acc + tf.reduce_sum(ab[0]))))


@tf.function
def loop():
    t = 0.0
    for a, b in ds:
        t += tf.reduce_sum(a)
    return t


print(float(loop()))
