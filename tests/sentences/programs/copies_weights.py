"""After each step the weights of one model are copied into another: all, or one of them."""

import sys

import numpy as np
import tensorflow as tf

count = int(sys.argv[1])
first = [tf.Variable(tf.random.normal([8, 8])) for _ in range(8)]
second = [tf.Variable(variable) for variable in first]


@tf.function
def step(x):
    for variable in first:
        x = tf.tanh(x @ variable)
    return tf.reduce_sum(x)


for _ in range(40):
    step(tf.ones([4, 8]))
    for source, target in list(zip(first, second))[:count]:
        target.assign(np.array(source) * 0.9)
