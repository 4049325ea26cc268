"""Threads of TensorFlow. Usage: many_threads.py inter|intra|default|called|data."""

import sys
import threading

import numpy as np
import tensorflow as tf

KIND = sys.argv[1]
if KIND == "inter":
    tf.config.threading.set_inter_op_parallelism_threads(8)
if KIND == "intra":
    tf.config.threading.set_intra_op_parallelism_threads(8)
W = [
    tf.Variable(np.random.default_rng(i).normal(size=(128, 128)).astype("float32")) for i in range(8)
]


@tf.function
def step(x):
    return tf.add_n([tf.reduce_sum(tf.matmul(tf.nn.relu(tf.matmul(x, w)), w)) for w in W])


def loop(count):
    for _ in range(count):
        step(tf.ones((128, 128)))


if KIND == "called":
    # Threads of the program, as many as it likes.
    step(tf.ones((128, 128)))
    threads = [threading.Thread(target=loop, args=(1,)) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
elif KIND == "data":
    # Threads of tf.data: they wait most of the time.
    data = tf.data.Dataset.range(24).map(
        lambda i: tf.sin(tf.cast(i, tf.float32)) * tf.ones((128, 128)), num_parallel_calls=8
    )
    options = tf.data.Options()
    options.threading.private_threadpool_size = 8
    for x in data.with_options(options).batch(6):
        step(x[0])
else:
    loop(6)
