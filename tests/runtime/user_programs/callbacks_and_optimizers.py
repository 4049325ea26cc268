"""Callbacks, optimizers, schedules, and what `fit` takes."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
X = np.linspace(-1, 1, 40).reshape(20, 2).astype("float32")
Y = X.sum(1, keepdims=True)


def mk(opt="sgd", **k):
    tf.keras.utils.set_random_seed(1)
    m = tf.keras.Sequential(
        [tf.keras.layers.Dense(4, activation="relu", input_shape=(2,)), tf.keras.layers.Dense(1)]
    )
    m.compile(opt, "mse", **k)
    return m


m = mk(metrics=["mae"])
h = m.fit(X, Y, validation_split=0.2, epochs=3, batch_size=4, verbose=2, shuffle=False)
print(sorted(h.history), h.epoch, h.params)

m = mk(tf.keras.optimizers.SGD(0.5))
h = m.fit(
    X,
    Y,
    validation_data=(X, Y),
    epochs=30,
    verbose=0,
    callbacks=[
        tf.keras.callbacks.EarlyStopping(
            patience=2, restore_best_weights=True, verbose=1, min_delta=0.01
        )
    ],
)
print(len(h.history["loss"]), m.stop_training)

m = mk()
h = m.fit(
    X,
    Y,
    epochs=4,
    verbose=0,
    callbacks=[tf.keras.callbacks.LearningRateScheduler(lambda e, lr: lr * 0.5, verbose=1)],
)
print(h.history["lr"])

m = mk(tf.keras.optimizers.Adam(0.1))
h = m.fit(
    X,
    Y,
    epochs=8,
    verbose=0,
    callbacks=[
        tf.keras.callbacks.ReduceLROnPlateau(
            monitor="loss", patience=1, factor=0.5, min_delta=10.0, verbose=1
        )
    ],
)
print(h.history["lr"])


class C(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        print("begin", logs)

    def on_epoch_end(self, epoch, logs=None):
        print(epoch, sorted(logs), self.model.optimizer.lr.numpy(), self.params["epochs"])

    def on_train_batch_end(self, b, logs=None):
        print(" b", b, round(logs["loss"], 3))

    def on_test_end(self, logs=None):
        print("test end")

    def on_predict_batch_end(self, b, logs=None):
        print("p", b, sorted(logs))


m = mk()
m.fit(X, Y, epochs=2, batch_size=10, verbose=0, shuffle=False, callbacks=[C()])
m.evaluate(X, Y, verbose=0, callbacks=[C()])
m.predict(X, verbose=0, callbacks=[C()])

cb = tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda e, l: print(e))
mk().fit(X, Y, epochs=2, verbose=0, callbacks=[cb])

mk().fit(X, Y, epochs=2, verbose=1, batch_size=10, shuffle=False)

print(
    mk().evaluate(X, Y, verbose=0, return_dict=True),
    mk(metrics=["mse", "mae"]).evaluate(X, Y, verbose=2),
    mk(metrics=["mae"]).metrics_names,
)

m = mk()
print(
    m.train_on_batch(X, Y),
    m.test_on_batch(X, Y),
    m.predict_on_batch(X).shape,
    m.train_on_batch(X, Y, return_dict=True),
)

m = mk()
ds = tf.data.Dataset.from_tensor_slices((X, Y)).batch(5).repeat()
m.fit(ds, steps_per_epoch=3, epochs=2, verbose=2, validation_data=ds, validation_steps=2)

m = mk()
h = m.fit(
    X,
    Y,
    initial_epoch=2,
    epochs=4,
    verbose=2,
    shuffle=False,
    validation_data=(X, Y),
    validation_freq=2,
)


def g():
    for i in range(4):
        yield X[:5], Y[:5]


mk().fit(g(), epochs=1, verbose=2, steps_per_epoch=2)

mk().fit(
    X,
    Y,
    epochs=2,
    verbose=0,
    callbacks=[
        tf.keras.callbacks.TerminateOnNaN(),
        tf.keras.callbacks.History(),
    ],
)

for o in [
    tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    tf.keras.optimizers.Adam(0.1, amsgrad=True),
    tf.keras.optimizers.RMSprop(0.1, centered=True, momentum=0.5),
    tf.keras.optimizers.Adam(0.1, clipnorm=0.1),
    tf.keras.optimizers.SGD(0.1, clipvalue=0.01),
    tf.keras.optimizers.Adam(0.1, weight_decay=0.01),
    tf.keras.optimizers.SGD(0.1, global_clipnorm=0.1),
]:
    m = mk(o)
    h = m.fit(X, Y, epochs=2, verbose=0, shuffle=False)
    print(h.history["loss"])

for s in [
    tf.keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5, staircase=True),
    tf.keras.optimizers.schedules.PiecewiseConstantDecay([1, 3], [0.1, 0.05, 0.01]),
    tf.keras.optimizers.schedules.PolynomialDecay(0.1, 4, 0.01),
    tf.keras.optimizers.schedules.CosineDecay(0.1, 5),
    tf.keras.optimizers.schedules.InverseTimeDecay(0.1, 1, 0.5),
]:
    print([round(float(s(i)), 5) for i in range(6)])
m = mk(tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)))
m.fit(X, Y, epochs=1, verbose=0)
print(m.optimizer.learning_rate if not callable(m.optimizer.learning_rate) else "callable")
