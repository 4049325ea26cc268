"""Losses, metrics, initializers, regularizers, constraints."""

import numpy as np
import tensorflow as tf

y = [0, 1, 1, 0, 1]
p = [0.1, 0.8, 0.4, 0.6, 0.9]
for M in [
    "AUC",
    "Precision",
    "Recall",
    "TruePositives",
    "FalsePositives",
    "TrueNegatives",
    "FalseNegatives",
    "BinaryAccuracy",
    "BinaryCrossentropy",
    "MeanSquaredError",
    "RootMeanSquaredError",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredLogarithmicError",
    "Hinge",
    "CosineSimilarity",
    "KLDivergence",
    "Poisson",
    "LogCoshError",
]:
    try:
        m = getattr(tf.keras.metrics, M)()
        m.update_state(y, p)
        print(M, m.name, m.result().numpy(), [w.name for w in m.weights])
    except Exception as e:
        print(M, "!!", type(e).__name__, str(e)[:100])

m = tf.keras.metrics.Precision(thresholds=[0.3, 0.5])
m.update_state(y, p)
print(m.result().numpy())
m.reset_state()
print(m.result().numpy())

m = tf.keras.metrics.AUC(curve="PR", num_thresholds=50)
m.update_state(y, p, sample_weight=[1, 0, 1, 1, 1])
print(m.result().numpy())

m = tf.keras.metrics.MeanIoU(num_classes=2)
m.update_state([0, 0, 1, 1], [0, 1, 0, 1])
print(m.result().numpy())

m = tf.keras.metrics.TopKCategoricalAccuracy(k=2)
m.update_state([[0, 0, 1], [0, 1, 0]], [[0.1, 0.9, 0.8], [0.05, 0.95, 0]])
print(m.result().numpy())
m = tf.keras.metrics.SparseTopKCategoricalAccuracy(k=1)
m.update_state([2, 1], [[0.1, 0.9, 0.8], [0.05, 0.95, 0]])
print(m.result().numpy())

yt = [[0.0, 1.0], [1.0, 0.0]]
yp = [[0.2, 0.8], [0.6, 0.4]]
for L in [
    "MeanSquaredError",
    "MeanAbsoluteError",
    "BinaryCrossentropy",
    "CategoricalCrossentropy",
    "Huber",
    "LogCosh",
    "Hinge",
    "SquaredHinge",
    "CategoricalHinge",
    "KLDivergence",
    "Poisson",
    "CosineSimilarity",
    "MeanAbsolutePercentageError",
    "MeanSquaredLogarithmicError",
]:
    try:
        l = getattr(tf.keras.losses, L)()
        print(
            L,
            l.name,
            l(yt, yp).numpy(),
            l(yt, yp, sample_weight=[1.0, 0.5]).numpy(),
            getattr(tf.keras.losses, L)(reduction="none")(yt, yp).numpy(),
            getattr(tf.keras.losses, L)(reduction=tf.keras.losses.Reduction.SUM)(yt, yp).numpy(),
        )
    except Exception as e:
        print(L, "!!", type(e).__name__, str(e)[:100])

print(
    tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)([1, 0], yp).numpy(),
    tf.keras.losses.CategoricalCrossentropy(label_smoothing=0.1)(yt, yp).numpy(),
    tf.keras.losses.BinaryCrossentropy(label_smoothing=0.1, from_logits=True)(yt, yp).numpy(),
    tf.keras.losses.get("mse")(yt, yp).numpy(),
    tf.keras.losses.mean_squared_error(yt, yp).numpy(),
)


def my(y_true, y_pred):
    return tf.reduce_mean(tf.abs(y_true - y_pred) ** 1.5)


m = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
m.compile("sgd", my, metrics=[my, tf.keras.metrics.MeanAbsoluteError(name="m")])
print(m.fit(np.ones([4, 2]), np.ones([4, 1]), verbose=2).history)

i = tf.keras.Input((3,))
a = tf.keras.layers.Dense(1, name="a", kernel_initializer="ones")(i)
b = tf.keras.layers.Dense(2, activation="softmax", name="b", kernel_initializer="ones")(i)
m = tf.keras.Model(i, {"a": a, "b": b})
m.compile(
    "sgd",
    {"a": "mse", "b": "sparse_categorical_crossentropy"},
    loss_weights={"a": 0.5, "b": 1.0},
    metrics={"b": ["accuracy"]},
)
print(m.fit(np.ones([4, 3]), {"a": np.ones([4]), "b": np.array([0, 1, 0, 1])}, verbose=2).history)
print(m.predict(np.ones([1, 3]), verbose=0))
m = tf.keras.Model(i, [a, b])
m.compile("sgd", ["mse", "sparse_categorical_crossentropy"], metrics=["mae", "accuracy"])
print(m.fit(np.ones([4, 3]), [np.ones([4]), np.array([0, 1, 0, 1])], verbose=2).history)


class L(tf.keras.layers.Layer):
    def call(self, x):
        self.add_loss(tf.reduce_sum(x) * 0.01)
        return x


m = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(
            2,
            kernel_regularizer=tf.keras.regularizers.L1L2(0.1, 0.2),
            activity_regularizer="l2",
            bias_regularizer="l1",
            kernel_initializer="ones",
        ),
        L(),
    ]
)
m.compile("sgd", "mse")
print(m.fit(np.ones([4, 2]), np.ones([4, 2]), verbose=2).history)
print(len(m.losses))

d = tf.keras.layers.Dense(
    2, kernel_constraint=tf.keras.constraints.MaxNorm(1.0), kernel_initializer="ones"
)
m = tf.keras.Sequential([d])
m.compile("sgd", "mse")
m.fit(np.ones([4, 2]), np.ones([4, 2]), verbose=0)
print(d.kernel.numpy())
print(
    tf.keras.constraints.NonNeg()(tf.constant([-1.0, 1.0])),
    tf.keras.constraints.UnitNorm()(tf.constant([[3.0], [4.0]])),
)

for n in [
    "zeros",
    "ones",
    "glorot_uniform",
    "glorot_normal",
    "he_normal",
    "he_uniform",
    "lecun_normal",
    "lecun_uniform",
    "random_normal",
    "random_uniform",
    "truncated_normal",
    "orthogonal",
    "identity",
    "variance_scaling",
]:
    tf.keras.utils.set_random_seed(2)
    print(n, tf.keras.initializers.get(n)((2, 2)).numpy().ravel())
print(
    tf.keras.initializers.Constant(3.0)((2,)),
    tf.keras.initializers.RandomNormal(seed=1)((2,)),
    tf.keras.initializers.Orthogonal(seed=1)((3, 2)),
)

for a in [
    "relu",
    "sigmoid",
    "tanh",
    "softplus",
    "softsign",
    "swish",
    "selu",
    "elu",
    "gelu",
    "exponential",
    "hard_sigmoid",
    "linear",
    "mish",
    "softmax",
    "relu6",
    "leaky_relu",
]:
    try:
        print(a, tf.keras.activations.get(a)(tf.constant([[-2.0, -0.5, 0.0, 3.0]])).numpy())
    except Exception as e:
        print(a, "!!", type(e).__name__, str(e)[:80])
