import numpy as np
import tensorflow as tf

np.random.seed(0)
B, T, H, D = 2, 4, 2, 3
q, k, v = (tf.constant(np.random.randn(B, T, H, D), tf.float32) for _ in range(3))


@tf.function(jit_compile=True)
def attend(q, k, v, causal: bool):
    s = tf.einsum("bthd,bshd->bhts", q, k) / D**0.5
    if causal:
        m = tf.linalg.band_part(tf.ones([T, T], tf.bool), -1, 0)
        s = tf.where(m, s, -1e9)
    p = tf.nn.softmax(s)
    return tf.einsum("bhts,bshd->bthd", p, v), p


o, p = attend(q, k, v, True)
print(o.shape, p[0, 0])
o2, _ = attend(q, k, v, False)
print(tf.reduce_sum(o2), tf.reduce_mean(o, axis=[1, 2, 3]))
with tf.GradientTape(persistent=True) as tape:
    tape.watch([q, k, v])
    o, _ = attend(q, k, v, True)
    l = tf.reduce_sum(o * o)
for t in (q, k, v):
    g = tape.gradient(l, t)
    print(g.shape, tf.norm(g).numpy().round(3))
print(tape.jacobian(tf.reduce_sum(v), v) is None)
with tf.GradientTape() as t1:
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as t2:
        y = tf.reduce_sum(x**3)
    g = t2.gradient(y, x)
print(t1.jacobian(g, x))
