"""What Keras says of inputs, options and calls that do not fit."""

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
X = np.ones((4, 3), "float32")
show("dense rank1", lambda: L.Dense(2)(tf.ones([3])))
show("dense none", lambda: L.Dense(2)(K.Input((None,))))
show("conv rank", lambda: L.Conv2D(2, 3)(tf.ones([4, 4])))
show("conv too big", lambda: L.Conv2D(2, 5)(K.Input((3, 3, 1))))
show("lstm rank", lambda: L.LSTM(2)(tf.ones([2, 3])))
show("changed width", lambda: (lambda d: (d(X), d(tf.ones([2, 5]))))(L.Dense(2)))
show("embedding oob", lambda: L.Embedding(3, 2)(tf.constant([[7]])))
show("dropout rate", lambda: L.Dropout(1.5))
show("reshape", lambda: L.Reshape((5,))(tf.ones([2, 4])))
show("flatten str", lambda: L.Flatten()("abc"))
show("add mismatch", lambda: L.Add()([tf.ones([2, 3]), tf.ones([2, 4])]))
show("add single", lambda: L.Add()(tf.ones([2, 3])))
show("no compile", lambda: K.Sequential([L.Dense(1)]).evaluate(X, X))
show(
    "sizes",
    lambda: (lambda m: (m.compile("sgd", "mse"), m.fit(X, X[:2, :1], verbose=0)))(
        K.Sequential([L.Dense(1)])
    ),
)
show("empty seq", lambda: K.Sequential().summary())
show("dup name", lambda: K.Sequential([L.Dense(1, name="a"), L.Dense(1, name="a")]))
show(
    "dup functional",
    lambda: (lambda i: K.Model(i, L.Dense(1, name="a")(L.Dense(1, name="a")(i))))(K.Input((2,))),
)
show("not layer", lambda: K.Sequential([3]))
show("bad init", lambda: L.Dense(1, kernel_initializer="nope")(X))
show("bad kw", lambda: L.Dense(1, foo=2))
show("missing arg", lambda: L.Dense())
show("call no args", lambda: L.Dense(1)())
show(
    "weights shape",
    lambda: (lambda d: (d(X), d.set_weights([np.ones((2, 2)), np.ones(2)])))(L.Dense(2)),
)
show("weights count", lambda: (lambda d: (d(X), d.set_weights([np.ones((3, 2))])))(L.Dense(2)))
show("count unbuilt", lambda: L.Dense(2).count_params())
show("output unbuilt", lambda: L.Dense(2).output)
show(
    "y with ds",
    lambda: (
        lambda m: (m.compile("sgd", "mse"), m.fit(tf.data.Dataset.from_tensors((X, X[:, :1])), X))
    )(K.Sequential([L.Dense(1)])),
)
show(
    "steps ran out",
    lambda: (
        lambda m: (
            m.compile("sgd", "mse"),
            m.fit(
                tf.data.Dataset.from_tensors((X, X[:, :1])), steps_per_epoch=3, epochs=2, verbose=0
            ).history.keys(),
        )
    )(K.Sequential([L.Dense(1)])),
)
show("opt bad", lambda: K.optimizers.SGD(learning_rate=0.1, momentum=2.0))
show("clip both", lambda: K.optimizers.SGD(clipnorm=1.0, global_clipnorm=1.0))
show(
    "sch settable",
    lambda: setattr(
        K.optimizers.SGD(K.optimizers.schedules.CosineDecay(0.1, 5)), "learning_rate", 0.1
    ),
)
show("custom err", lambda: K.Sequential([L.Lambda(lambda x: x @ tf.ones([5, 1]))])(X))
show(
    "op err in call",
    lambda: type("Q", (L.Layer,), {"call": lambda self, x, training=None: tf.reshape(x, [7])})()(X),
)
show(
    "categorical 1d",
    lambda: K.losses.CategoricalCrossentropy()(tf.constant([1.0, 0.0]), tf.constant([0.5, 0.5])),
)
show("scce shape", lambda: K.losses.SparseCategoricalCrossentropy()([0, 1, 2], tf.ones([2, 3])))
show("mse shape", lambda: K.losses.MeanSquaredError()(tf.ones([2, 3]), tf.ones([2, 4])))
show("auc neg", lambda: K.metrics.AUC().update_state([0, 1], [0.5, -0.5]))
show("metric bad", lambda: K.metrics.Accuracy().update_state([1, 2], [1, 2, 3]))
