"""Scores of quantized vectors: products of integers; of float32, which hold them exactly."""

import sys
import time

import tensorflow as tf

type_ = {"integers": tf.int32, "floats": tf.float32}[sys.argv[1]]
table = tf.cast(tf.random.stateless_uniform((512, 1024), (1, 2), -127, 128, tf.int32), type_)


seed = tf.Variable(0)


@tf.function
def score():
    i = seed.assign_add(1)
    x = tf.random.stateless_uniform((128, 512), [i, i], -127, 128, tf.int32)
    return tf.argmax(tf.matmul(tf.cast(x, type_), table), axis=1)


score()
began = time.perf_counter()
for _ in range(40):
    score()
print(f"{time.perf_counter() - began:.3f} s", flush=True)
