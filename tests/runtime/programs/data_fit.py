"""Keras fed by a dataset; class and sample weights; callbacks; a learning rate schedule."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(8)
x = np.random.rand(20, 4).astype("f")
y = (x.sum(1) > 2).astype("i8")
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
m = tf.keras.Sequential(
    [tf.keras.layers.Dense(6, activation="tanh"), tf.keras.layers.Dense(2, activation="softmax")]
)
rate = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
m.compile(tf.keras.optimizers.SGD(rate), "sparse_categorical_crossentropy", metrics=["accuracy"])
told = []


class Telling(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        told.append(f"begin {epoch}")

    def on_train_batch_end(self, batch, logs=None):
        told.append((batch, sorted(logs)))

    def on_epoch_end(self, epoch, logs=None):
        told.append((f"end {epoch}", sorted(logs)))


h = m.fit(
    ds,
    epochs=3,
    verbose=0,
    callbacks=[Telling(), tf.keras.callbacks.EarlyStopping("loss", min_delta=10, patience=1)],
)
print(h.history, h.epoch, told)
print(m.evaluate(ds, verbose=0), float(m.optimizer.learning_rate))
print(m.fit(x, y, verbose=0, class_weight={0: 2.0, 1: 0.5}, validation_split=0.25).history)
print(m.fit(x, y, verbose=0, sample_weight=np.linspace(0, 1, 20).astype("f"), batch_size=7).history)
print(m.predict(ds, verbose=0).shape)
print(m.fit(ds.repeat(), steps_per_epoch=2, epochs=2, verbose=0).history)
