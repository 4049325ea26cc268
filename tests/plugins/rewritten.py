"""What plug-ins rewrite, and what they leave as it is; functions are named after that.

Recorded with `tflogscope record` under each plug-in (README.md).
"""

from __future__ import annotations

import sys

import tensorflow as tf

tf.random.set_seed(1)
x = tf.random.normal((2, 12, 12, 6))
k = tf.random.normal((3, 3, 6, 8))
b = tf.zeros(8)
a = tf.random.normal((24, 48))
w = tf.random.normal((48, 40))
c = tf.zeros(40)


@tf.function
def products():
    dense = tf.nn.relu(tf.nn.bias_add(tf.matmul(a, w), c))
    maps = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k, 1, "SAME"), b))
    pooled = tf.nn.max_pool2d(maps, 2, 2, "VALID")
    plain = tf.matmul(dense, dense, transpose_b=True)
    return tf.nn.softmax(plain), pooled


@tf.function
def other_fusion():
    return tf.nn.elu(tf.nn.bias_add(tf.matmul(a, w), c))


@tf.function
def double():
    return tf.matmul(tf.cast(a, tf.float64), tf.cast(w, tf.float64))


@tf.function
def window():
    return tf.nn.max_pool(tf.nn.conv2d(x, k, 1, "SAME"), (1, 1, 1, 2), (1, 1, 1, 2), "VALID")


@tf.function
def without_product():
    return tf.nn.max_pool2d(tf.nn.elu(x), 2, 2, "VALID")


@tf.function
def gradient():
    with tf.GradientTape() as tape:
        tape.watch(w)
        loss = tf.reduce_sum(tf.nn.leaky_relu(tf.matmul(a, w)))
    return tape.gradient(loss, w)


for _ in range(2):
    for function in (products, other_fusion, double, without_product, gradient):
        function()
tf.matmul(a, w)
tf.nn.softmax(a)
tf.matmul(tf.cast(a, tf.float64), tf.cast(w, tf.float64))
try:
    window()
except tf.errors.InternalError as error:  # of ZenDNN, which takes the pool and can't run it
    print("refused:", error.message.splitlines()[-1][:60], file=sys.stderr)
print("done", tf.__version__, file=sys.stderr)
