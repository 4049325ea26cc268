"""Gradients: nested, persistent, custom, of slices, through loops."""

import numpy as np
import tensorflow as tf

x = tf.Variable(3.0)
with tf.GradientTape() as t2:
    with tf.GradientTape() as t1:
        y = x**3
    g = t1.gradient(y, x)
print(g, t2.gradient(g, x))

x = tf.Variable([1.0, 2.0, 3.0])
with tf.GradientTape(persistent=True) as t:
    y = x**2
    rows = [y[i] for i in range(3)]
print(tf.stack([t.gradient(r, x) for r in rows]))
with tf.GradientTape() as t:
    y = x * tf.reduce_sum(x)
print(t.jacobian(y, x))

x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
with tf.GradientTape() as t:
    t.watch(x)
    y = tf.matmul(x, x, transpose_b=True)
print(t.batch_jacobian(y, x).numpy())

x = tf.Variable(2.0)
with tf.GradientTape(watch_accessed_variables=False) as t:
    y = x * x
print(t.gradient(y, x))
with tf.GradientTape() as t:
    z = tf.constant(1.0) * 2
print(
    t.gradient(z, x, unconnected_gradients=tf.UnconnectedGradients.ZERO),
    t.gradient if False else "",
)

try:
    with tf.GradientTape() as t:
        y = x * x
    t.gradient(y, x)
    t.gradient(y, x)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

with tf.GradientTape() as t:
    y = x * x
    with t.stop_recording():
        z = y * x
    w = y + z
print(t.gradient(w, x))

with tf.GradientTape() as t:
    y = x * x
    t.reset()
    z = x * 3
print(t.gradient(z, x), t.watched_variables())


@tf.custom_gradient
def clip(x):
    def grad(dy):
        return tf.clip_by_value(dy, -0.5, 0.5)

    return tf.identity(x), grad


with tf.GradientTape() as t:
    y = clip(x) * 5
print(t.gradient(y, x))


@tf.custom_gradient
def log1pexp(x):
    e = tf.exp(x)

    def grad(up):
        return up * (1 - 1 / (1 + e))

    return tf.math.log(1 + e), grad


c = tf.constant(100.0)
with tf.GradientTape() as t:
    t.watch(c)
    y = log1pexp(c)
print(y, t.gradient(y, c))

v = tf.Variable(2.0, name="v")


@tf.custom_gradient
def f(x):
    y = x * v

    def grad(dy, variables=None):
        return dy * v, [dy * x]

    return y, grad


with tf.GradientTape() as t:
    xx = tf.constant(3.0)
    t.watch(xx)
    y = f(xx)
print(t.gradient(y, [xx, v]))

i = tf.constant(3)
with tf.GradientTape() as t:
    t.watch(i)
    y = i * i
print(t.gradient(y, i))

with tf.GradientTape() as t:
    y = tf.math.segment_prod(tf.stack([x, x, x]), [0, 0, 1])
print(t.gradient(y, x))

with tf.GradientTape() as t:
    y = tf.gather(tf.stack([x, x * 2, x * 3]), [0, 2, 2])
print(t.gradient(y, x))
emb = tf.Variable(tf.ones([4, 2]))
with tf.GradientTape() as t:
    l = tf.reduce_sum(tf.nn.embedding_lookup(emb, [1, 1, 3]) ** 2)
g = t.gradient(l, emb)
print(type(g).__name__, g.indices.numpy(), g.values.numpy(), g)
tf.keras.optimizers.SGD(0.1).apply_gradients([(g, emb)])
print(emb.numpy())


def f(x):
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), (0, tf.constant(1.0)))[1]


x = tf.constant(2.0)
with tf.GradientTape() as t:
    t.watch(x)
    y = tf.function(f)(x)
print(y, t.gradient(y, x))

x = tf.Variable([1.0, 2.0])
with tf.GradientTape() as t2:
    with tf.GradientTape() as t1:
        y = tf.reduce_sum(x**3) + x[0] * x[1]
    g = t1.gradient(y, x)
print(t2.jacobian(g, x))


@tf.function
def hv(x, v):
    with tf.GradientTape() as t2:
        t2.watch(x)
        with tf.GradientTape() as t1:
            t1.watch(x)
            y = tf.reduce_sum(tf.sin(x) * x)
        g = t1.gradient(y, x)
        s = tf.reduce_sum(g * v)
    return t2.gradient(s, x)


print(hv(tf.constant([1.0, 2.0]), tf.constant([1.0, 0.0])))

with tf.GradientTape() as t:
    y = {"a": x * 2, "b": x[0] * 3}
print(t.gradient(y, {"x": x}))

with tf.GradientTape() as t:
    y = x * 2
print(t.gradient(y, x, output_gradients=tf.constant([1.0, 10.0])))

y = tf.stop_gradient(x)
with tf.GradientTape() as t:
    z = tf.reduce_sum(tf.stop_gradient(x) * x)
print(t.gradient(z, x))
x = tf.Variable("s")
with tf.GradientTape() as t:
    y = tf.strings.upper(x)
print(t.gradient(y, x))
