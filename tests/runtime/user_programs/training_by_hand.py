"""Small algorithms written in TensorFlow."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
np.random.seed(0)
W = tf.Variable(tf.zeros([4, 2]))
b = tf.Variable(tf.zeros([2]))
opt = tf.keras.optimizers.Adam(0.05)


@tf.function(reduce_retracing=True)
def update(obs, act, ret):
    with tf.GradientTape() as t:
        lg = obs @ W + b
        nll = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=act, logits=lg)
        loss = tf.reduce_mean(nll * ret)
        ent = -tf.reduce_sum(tf.nn.softmax(lg) * tf.nn.log_softmax(lg), -1)
        loss -= 0.01 * tf.reduce_mean(ent)
    opt.apply_gradients(zip(t.gradient(loss, [W, b]), [W, b]))
    return loss


for ep in range(4):
    o = np.random.randn(5 + ep, 4).astype("float32")
    a = (o[:, 0] > 0).astype("int32")
    r = np.ones(5 + ep, "float32")
    print(ep, float(update(o, a, r)))
print(update.experimental_get_tracing_count())

x = tf.Variable(3.0)
for i in range(4):
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t:
            f = x**4 - 3 * x**2
        g = t.gradient(f, x)
    h = t2.gradient(g, x)
    x.assign_sub(g / h)
print(x.numpy())

pts = tf.constant(np.random.RandomState(0).randn(30, 2).astype("float32"))
cs = tf.Variable(pts[:3])


@tf.function
def kstep():
    d = tf.reduce_sum((pts[:, None] - cs[None]) ** 2, -1)
    a = tf.argmin(d, 1)
    cs.assign(tf.math.unsorted_segment_mean(pts, a, 3))
    return a


for _ in range(5):
    a = kstep()
print(cs.numpy(), a.numpy())


@tf.function
def ode(y0, n):
    ta = tf.TensorArray(tf.float32, size=n)
    y = y0
    for i in tf.range(n):
        y = y + 0.1 * tf.stack([y[1], -y[0]])
        ta = ta.write(i, y)
    return ta.stack()


with tf.GradientTape() as t:
    y0 = tf.constant([1.0, 0.0])
    t.watch(y0)
    tr = ode(y0, tf.constant(10))
    l = tf.reduce_sum(tr[-1] ** 2)
print(tr[-1].numpy(), t.gradient(l, y0).numpy())

rs = np.random.RandomState(1)
X = rs.randn(60, 5).astype("float32")
T = rs.randn(5, 3).astype("float32")
yl = np.argmax(X @ T, 1)
w = tf.Variable(tf.zeros([5, 3]))
for e in range(3):
    for i in range(0, 60, 20):
        with tf.GradientTape() as t:
            l = tf.reduce_mean(
                tf.keras.losses.sparse_categorical_crossentropy(
                    yl[i : i + 20], X[i : i + 20] @ w, from_logits=True
                )
            )
        w.assign_sub(0.5 * t.gradient(l, w))
    acc = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(X @ w, 1), yl), tf.float32))
    print(e, l.numpy(), acc.numpy())


@tf.function
def gen(logits, n):
    out = tf.zeros([1], tf.int32)
    for i in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(out, tf.TensorShape([None]))])
        nxt = tf.argmax(logits[out[-1]], output_type=tf.int32)
        out = tf.concat([out, [nxt]], 0)
    return out


print(gen(tf.constant([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), tf.constant(5)))


class Adam(tf.Module):
    def __init__(s, lr):
        s.lr = lr
        s.m = []
        s.v = []
        s.t = tf.Variable(0.0)

    def apply(s, gs, vs):
        if not s.m:
            s.m = [tf.Variable(tf.zeros_like(v)) for v in vs]
            s.v = [tf.Variable(tf.zeros_like(v)) for v in vs]
        s.t.assign_add(1.0)
        for g, v, m, vv in zip(gs, vs, s.m, s.v):
            m.assign(0.9 * m + 0.1 * g)
            vv.assign(0.999 * vv + 0.001 * g * g)
            v.assign_sub(s.lr * (m / (1 - 0.9**s.t)) / (tf.sqrt(vv / (1 - 0.999**s.t)) + 1e-8))


p = tf.Variable([5.0, -3.0])
ad = Adam(0.5)


@tf.function
def st():
    with tf.GradientTape() as t:
        l = tf.reduce_sum(p**2)
    ad.apply(t.gradient(l, [p]), [p])
    return l


for _ in range(3):
    print(st().numpy())
print(p.numpy())

vs = [tf.Variable(1.0), tf.Variable([2.0, 3.0])]
acc = [tf.Variable(tf.zeros_like(v), trainable=False) for v in vs]


@tf.function
def accum(x):
    with tf.GradientTape() as t:
        l = tf.reduce_sum(vs[0] * vs[1] * x)
    for a, g in zip(acc, t.gradient(l, vs)):
        a.assign_add(g)


for k in range(3):
    accum(tf.constant(float(k)))
print([a.numpy() for a in acc])


@tf.recompute_grad
def rg(x):
    return tf.sin(x) * x


with tf.GradientTape() as t:
    c = tf.constant(2.0)
    t.watch(c)
    y = rg(c)
print(t.gradient(y, c))

m = tf.keras.Sequential(
    [tf.keras.layers.Dense(3, kernel_initializer=tf.keras.initializers.GlorotNormal(seed=4))]
)
xx = tf.ones([1, 4])
with tf.GradientTape() as t:
    t.watch(xx)
    l = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)([1], m(xx))
print((xx + 0.1 * tf.sign(t.gradient(l, xx))).numpy(), l.numpy())

f = tf.random.stateless_uniform([1, 4, 4, 3], [1, 1])
gram = tf.linalg.einsum("bijc,bijd->bcd", f, f) / 16.0
print(gram.numpy())

e = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(2, kernel_initializer="ones"),
        tf.keras.layers.Lambda(lambda x: tf.math.l2_normalize(x, axis=1)),
    ]
)
a, p_, n = [tf.random.stateless_normal([3, 4], [i, i]) for i in range(3)]
print(
    tf.reduce_mean(
        tf.maximum(
            0.0, tf.reduce_sum((e(a) - e(p_)) ** 2, 1) - tf.reduce_sum((e(a) - e(n)) ** 2, 1) + 0.2
        )
    ).numpy()
)
