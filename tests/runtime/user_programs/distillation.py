"""A student learns from a teacher; losses, metrics and models of all kinds that users make."""

import numpy as np
import tensorflow as tf


def show(label, result):
    print(label)
    try:
        print(result())
    except Exception as error:
        print(type(error).__name__, str(error)[:200])


K = tf.keras
L = K.layers
K.utils.set_random_seed(21)
X = np.random.rand(32, 4).astype("float32")
y = (X.sum(1) > 2).astype("int32")
teacher = K.Sequential(
    [L.Dense(8, activation="relu", input_shape=(4,)), L.Dense(2)], name="teacher"
)
student = K.Sequential(
    [L.Dense(3, activation="relu", input_shape=(4,)), L.Dense(2)], name="student"
)


class Distiller(K.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.teacher, self.student = teacher, student

    def compile(
        self, optimizer, metrics, student_loss_fn, distillation_loss_fn, alpha=0.1, temperature=3
    ):
        super().compile(optimizer=optimizer, metrics=metrics)
        self.s_fn, self.d_fn, self.alpha, self.temperature = (
            student_loss_fn,
            distillation_loss_fn,
            alpha,
            temperature,
        )

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, allow_empty=False):
        t = self.teacher(x, training=False)
        return (
            self.alpha * self.s_fn(y, y_pred)
            + (1 - self.alpha)
            * self.d_fn(
                tf.nn.softmax(t / self.temperature, axis=1),
                tf.nn.softmax(y_pred / self.temperature, axis=1),
            )
            * self.temperature**2
        )

    def call(self, x):
        return self.student(x)


d = Distiller(student, teacher)
d.compile(
    K.optimizers.Adam(0.01),
    [K.metrics.SparseCategoricalAccuracy()],
    K.losses.SparseCategoricalCrossentropy(from_logits=True),
    K.losses.KLDivergence(),
)
show("distill", lambda: d.fit(X, y, epochs=2, verbose=0).history)
show("eval", lambda: d.evaluate(X, y, verbose=0))
m = K.Sequential(
    [
        L.Dense(4, activation="relu", input_shape=(4,), name="a"),
        L.Dense(1, activation="sigmoid", name="b"),
    ]
)
m.compile(
    K.optimizers.SGD(0.1),
    "bce",
    metrics=[K.metrics.BinaryAccuracy(), K.metrics.Precision(name="p"), K.metrics.Recall(name="r")],
    weighted_metrics=["mae"],
    steps_per_execution=2,
)
show("spe", lambda: m.fit(X, y, epochs=2, batch_size=8, verbose=0).history)
show(
    "sw", lambda: m.evaluate(X, y, sample_weight=np.linspace(0, 1, 32), verbose=0, return_dict=True)
)
show(
    "get set weights",
    lambda: (
        lambda w: (
            m.set_weights([x * 0 for x in w]),
            m.predict(X[:2], verbose=0),
            m.set_weights(w),
            len(w),
        )
    )(m.get_weights()),
)
show("layer weights", lambda: m.get_layer("a").get_weights()[0].shape)
show(
    "callbacks list",
    lambda: (
        m.fit(
            X,
            y,
            epochs=2,
            verbose=0,
            callbacks=[
                K.callbacks.LambdaCallback(
                    on_batch_end=lambda b, l: None, on_train_end=lambda l: print("trained")
                )
            ],
        ).epoch
    ),
)
show("bad shapes", lambda: m.fit(X, y[:5], verbose=0))
show(
    "metric mean callback",
    lambda: (
        m.compile("sgd", lambda a, b: tf.reduce_mean((tf.cast(a, tf.float32)[:, None] - b) ** 2)),
        m.fit(X, y, verbose=0).history,
    )[1],
)
show(
    "loss list",
    lambda: (
        m.compile("sgd", loss=K.losses.Huber(delta=0.5), metrics=["mse", "mae"]),
        m.evaluate(X, y, verbose=0),
    )[1],
)
show(
    "custom metric fn",
    lambda: (
        m.compile("sgd", "mse", metrics=[lambda a, b: tf.reduce_max(b)]),
        sorted(m.evaluate(X, y, verbose=0, return_dict=True)),
    )[1],
)


def within(a, b):
    return tf.reduce_mean(tf.cast(tf.abs(tf.cast(a, b.dtype) - b) < 0.5, tf.float32))


show(
    "named metric fn",
    lambda: (
        m.compile("sgd", "mse", metrics=[within]),
        m.evaluate(X, y, verbose=0, return_dict=True),
    )[1],
)


class F1(K.metrics.Metric):
    def __init__(self, name="f1", **kw):
        super().__init__(name=name, **kw)
        self.tp = self.add_weight("tp", initializer="zeros")
        self.fp = self.add_weight("fp", initializer="zeros")
        self.fn = self.add_weight("fn", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        t = tf.cast(y_true, tf.bool)
        p = y_pred > 0.5
        self.tp.assign_add(tf.reduce_sum(tf.cast(t & p, tf.float32)))
        self.fp.assign_add(tf.reduce_sum(tf.cast(~t & p, tf.float32)))
        self.fn.assign_add(tf.reduce_sum(tf.cast(t & ~p, tf.float32)))

    def result(self):
        return 2 * self.tp / (2 * self.tp + self.fp + self.fn + 1e-7)


class Own(K.losses.Loss):
    def __init__(self, w):
        super().__init__(name="own")
        self.w = w

    def call(self, a, b):
        return self.w * tf.square(tf.cast(a, b.dtype) - b)


show("own loss", lambda: (m.compile("sgd", Own(2.0)), m.evaluate(X, y, verbose=0))[1])
show(
    "run_eagerly",
    lambda: (
        m.compile("sgd", "mse", run_eagerly=True),
        m.fit(X, y, epochs=1, verbose=0, shuffle=False).history,
    )[1],
)
show("jit", lambda: (m.compile("sgd", "mse", jit_compile=True), m.evaluate(X, y, verbose=0))[1])
inp = K.Input((4,))
br = [L.Dense(2, name=f"br{i}")(inp) for i in range(3)]
mm = K.Model(inp, {"avg": L.Average(name="avg")(br), "max": L.Maximum(name="max")(br)})
show("dict out", lambda: {k: v.shape for k, v in mm.predict(X, verbose=0).items()})
show(
    "dict fit",
    lambda: (
        mm.compile("sgd", {"avg": "mse", "max": "mae"}),
        mm.fit(X, {"avg": X[:, :2], "max": X[:, 2:]}, verbose=0, shuffle=False).history,
    )[1],
)
res = K.layers.Input((8, 8, 3))
z = L.Conv2D(4, 3, padding="same")(res)
z = L.BatchNormalization()(z)
z = L.ReLU()(z)
z = L.Add()([z, L.Conv2D(4, 1)(res)])
z = L.GlobalAvgPool2D()(z)
show(
    "nested call training",
    lambda: float(tf.reduce_sum(K.Model(res, z)(tf.ones([2, 8, 8, 3]), training=True))),
)
show(
    "siamese",
    lambda: (
        lambda enc, a, b: (
            K.Model([a, b], L.Lambda(lambda t: tf.abs(t[0] - t[1]))([enc(a), enc(b)]))
            .predict([X, X], verbose=0)
            .sum()
        )
    )(K.Sequential([L.Dense(3)]), K.Input((4,)), K.Input((4,))),
)
show(
    "tape model",
    lambda: (
        lambda: [
            tuple(g.shape)
            for g in (lambda t, l: t.gradient(l, m.trainable_variables))(
                *(
                    lambda t: (
                        t,
                        (t.__enter__(), tf.reduce_mean(m(X)), t.__exit__(None, None, None))[1],
                    )
                )(tf.GradientTape())
            )
        ]
    )(),
)
