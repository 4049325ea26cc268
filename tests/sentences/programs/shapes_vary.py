"""Shapes that vary from call to call. Usage: shapes_vary.py conv|compiled|products|padded|alike|traced."""

import sys

import numpy as np
import tensorflow as tf

KIND = sys.argv[1]
LENGTHS = [17 + 5 * i for i in range(12)]
KERNELS = [
    tf.Variable(np.random.default_rng(i).normal(size=(3, 3, 8, 8)).astype("float32") / 9)
    for i in range(2)
]
DENSE = tf.Variable(np.random.default_rng(9).normal(size=(64, 64)).astype("float32") / 8)
ANY = [tf.TensorSpec((None, None))]


@tf.function(input_signature=[tf.TensorSpec((4, None, 16, 8))])
def conv(x):
    with tf.GradientTape() as tape:
        for each in KERNELS:
            x = tf.nn.relu(tf.nn.conv2d(x, each, 1, "SAME"))
        loss = tf.reduce_mean(x * x)
    for each, gradient in zip(KERNELS, tape.gradient(loss, KERNELS), strict=True):
        each.assign_sub(0.01 * gradient)
    return loss


@tf.function(input_signature=[tf.TensorSpec((None, 64))], jit_compile=True)
def compiled(x):
    return tf.reduce_sum(tf.nn.softmax(tf.matmul(x, DENSE)))


@tf.function(input_signature=[tf.TensorSpec((None, 64))])
def products(x):
    for _ in range(4):
        x = tf.nn.relu(tf.matmul(x, DENSE))
    return x


@tf.function
def traced(x):
    """Traced again for each shape: another finding."""
    return tf.reduce_sum(tf.matmul(x, DENSE))


if KIND in ("conv", "padded"):
    lengths = LENGTHS if KIND == "conv" else [96] * 12
    for i in lengths:
        conv(tf.ones((4, i, 16, 8)))
elif KIND == "alike":
    for i in range(12):
        compiled(tf.ones((32, 64)) * i)
else:
    step = {"compiled": compiled, "products": products, "traced": traced}[KIND]
    for i in LENGTHS:
        step(tf.ones((i, 64)))
