"""Loops of training that users write: metrics, accumulated gradients, second derivatives."""

import numpy as np
import tensorflow as tf


def show(label, result):
    print(label)
    try:
        print(result())
    except Exception as error:
        print(type(error).__name__, str(error)[:200])


K = tf.keras
K.utils.set_random_seed(6)
X = np.random.randn(40, 3).astype("float32")
Y = X @ np.array([[1.0], [-2.0], [0.5]], "float32") + 0.3
ds = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(40, seed=2).batch(16)
model = K.Sequential([K.layers.Dense(4, activation="tanh"), K.layers.Dense(1)])
opt = K.optimizers.Adam(
    learning_rate=K.optimizers.schedules.PiecewiseConstantDecay([4, 8], [0.1, 0.05, 0.01])
)
loss_fn = K.losses.MeanSquaredError()
mean = K.metrics.Mean("loss")
mae = K.metrics.MeanAbsoluteError()


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        p = model(x, training=True)
        loss = loss_fn(y, p) + sum(model.losses)
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    mean(loss)
    mae(y, p)
    return loss


for epoch in range(3):
    for x, y in ds:
        step(x, y)
    show(
        f"epoch {epoch}",
        lambda: (
            f"{mean.result():.4f} {mae.result():.4f} {opt.learning_rate.numpy():.3f} {opt.iterations.numpy()}"
        ),
    )
    mean.reset_states()
    mae.reset_state()
show("traces", lambda: step.experimental_get_tracing_count())
show("vars", lambda: [v.name for v in model.variables])
show("opt vars", lambda: [v.name for v in opt.variables])
show(
    "grad norm",
    lambda: (
        lambda t: [tf.norm(g).numpy() for g in t[0].gradient(t[1], model.trainable_variables)]
    )(
        (lambda t: (t.__enter__(), loss_fn(Y, model(X)), t.__exit__(None, None, None), t)[3::-2])(
            tf.GradientTape()
        )
    ),
)
acc = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]


@tf.function
def accumulate(x, y, apply):
    with tf.GradientTape() as t:
        l = loss_fn(y, model(x))
    for a, g in zip(acc, t.gradient(l, model.trainable_variables)):
        a.assign_add(g)
    if apply:
        opt.apply_gradients([(a / 2.0, v) for a, v in zip(acc, model.trainable_variables)])
        for a in acc:
            a.assign(tf.zeros_like(a))
    return l


show(
    "accumulate",
    lambda: [float(accumulate(x, y, tf.constant(i == 1))) for i, (x, y) in enumerate(ds.take(2))],
)


class LinearModel(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(tf.zeros([3, 1]), name="w")
        self.b = tf.Variable(0.0, name="b")

    @tf.function
    def __call__(self, x):
        return x @ self.w + self.b


lm = LinearModel()


def fit(lr, n):
    out = []
    for _ in range(n):
        with tf.GradientTape() as t:
            l = tf.reduce_mean(tf.square(lm(X) - Y))
        dw, db = t.gradient(l, [lm.w, lm.b])
        lm.w.assign_sub(lr * dw)
        lm.b.assign_sub(lr * db)
        out.append(round(float(l), 4))
    return out


show("linear", lambda: fit(0.2, 5))
show("w", lambda: lm.w.numpy().ravel())


def newton(x, n=5):
    x = tf.Variable(x)
    for _ in range(n):
        with tf.GradientTape() as t2:
            with tf.GradientTape() as t1:
                y = x**4 - 3 * x**2 + x
            g = t1.gradient(y, x)
        x.assign_sub(g / t2.gradient(g, x))
    return x.numpy()


show("newton", lambda: newton(2.0))
show(
    "hessian",
    lambda: (
        lambda x: (
            lambda t2: (
                t2.__enter__(),
                [t1 := tf.GradientTape()],
                t1.__enter__(),
                t1.watch(x),
                t2.watch(x),
                [y := tf.reduce_sum(x**3)],
                t1.__exit__(None, None, None),
                [g := t1.gradient(y, x)],
                t2.__exit__(None, None, None),
                t2.jacobian(g, x),
            )[-1]
        )(tf.GradientTape())
    )(tf.constant([1.0, 2.0])),
)


@tf.function
def power_iter(a, n):
    v = tf.ones([tf.shape(a)[0], 1])
    for _ in tf.range(n):
        v = a @ v
        v /= tf.norm(v)
    return tf.transpose(v) @ a @ v


show("power", lambda: power_iter(tf.constant([[2.0, 1.0], [1.0, 3.0]]), 20))


@tf.custom_gradient
def clip(x):
    return tf.identity(x), lambda g: tf.clip_by_norm(g, 0.5)


show(
    "clip grad",
    lambda: (
        lambda v, t: (
            t.__enter__(),
            [o := clip(v * v)],
            t.__exit__(None, None, None),
            t.gradient(o, v),
        )[-1]
    )(tf.Variable(2.0), tf.GradientTape()),
)
show(
    "kmeans",
    lambda: (
        lambda pts, c: [
            c := tf.stack(
                [
                    tf.reduce_mean(
                        tf.boolean_mask(
                            pts, tf.argmin(tf.reduce_sum((pts[:, None] - c) ** 2, -1), 1) == k
                        ),
                        0,
                    )
                    for k in range(2)
                ]
            )
            for _ in range(3)
        ][-1]
    )(tf.constant(X), tf.constant(X[:2])),
)
show(
    "softmax reg",
    lambda: tf.reduce_mean(
        K.losses.sparse_categorical_crossentropy([0, 1, 2], tf.eye(3) * 2, from_logits=True)
    ),
)
show(
    "confusion",
    lambda: tf.math.confusion_matrix(
        [0, 1, 1, 2], tf.argmax(tf.one_hot([0, 1, 2, 2], 3), 1), num_classes=3
    ),
)
show(
    "print in fn",
    lambda: (lambda f: (f(1), f(2), f(tf.constant(1)), f(tf.constant(2))))(
        tf.function(lambda x: (print("tracing", x), x + 1)[1])
    ),
)
