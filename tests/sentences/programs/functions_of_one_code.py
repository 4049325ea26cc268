"""Four functions of one code are each traced for two shapes, which come in turn: TensorFlow counts by the code."""
import sys

import tensorflow as tf

TURNS = int(sys.argv[1]) if len(sys.argv) > 1 else 2


def make(scale):
    @tf.function
    def step(x):
        return tf.reduce_sum(tf.tanh(x) * scale)

    return step


for scale in range(4):
    step = make(float(scale))
    for size in (8, 8, 5) * TURNS:
        step(tf.ones((size, 3)))
