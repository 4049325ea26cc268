"""Jacobians, eagerly and in a function: the vectorized backward pass."""

import numpy as np
import tensorflow as tf

x = tf.constant(np.arange(12).reshape(4, 3).astype("f") / 10)
w = tf.Variable(np.arange(6).reshape(3, 2).astype("f") / 7)
b = tf.Variable([0.1, -0.2])


def show(values):
    print(None if values is None else (values.shape, np.round(values.numpy().ravel()[:8], 4)))


with tf.GradientTape(persistent=True) as t:
    t.watch(x)
    y = tf.matmul(x, w)
    z = tf.nn.relu(y + b)
    s = tf.nn.softmax(z)
    q = tf.reduce_sum(tf.tanh(z) * x[:, :2], 1)
    r = tf.sqrt(x + 1.0) / tf.reduce_mean(x, 0)
    biased = tf.nn.bias_add(y, b)
    e = tf.einsum("ij,jk->ik", x, w)
    c = tf.concat([y, z], 1)
    g = tf.gather(x, [1, 2])
pairs = [(y, x), (y, b), (z, w), (s, b), (q, x), (r, x), (biased, b), (e, w), (c, x), (g, x)]
for target, source in pairs:
    show(t.jacobian(target, source))
show(t.batch_jacobian(z, x))
show(t.batch_jacobian(c, x))
show(t.jacobian(y, b, unconnected_gradients="zero"))


@tf.function
def f(x):
    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.sin(tf.matmul(x, w)) * x[:, :1]
    return t.jacobian(y, x)


show(f(x))
with tf.GradientTape() as t2:
    t2.watch(x)
    with tf.GradientTape() as t1:
        t1.watch(x)
        l = tf.reduce_sum(x**3)
    gradient = t1.gradient(l, x)
show(t2.jacobian(gradient, x))
with tf.GradientTape() as t:
    v = tf.nn.log_softmax(tf.matmul(x, w))
show(t.jacobian(v, [w])[0])
