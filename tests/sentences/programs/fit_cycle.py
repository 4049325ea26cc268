"""Keras: fit, evaluate, predict, in a cycle, with callbacks. The same code for Keras 2 and 3."""
import truth
import os
import tempfile
import time
import numpy as np
import tensorflow as tf

PAIRS_A_BATCH = 10  # of eager ops


class Watch(tf.keras.callbacks.Callback):
    """Runs eager ops at the end of each batch of training."""

    def on_train_batch_end(self, batch, logs=None):
        with truth.phase("eager callback"):
            total = tf.constant(0.0)
            for _ in range(PAIRS_A_BATCH):
                total = tf.sqrt(total + 1.0)
            truth.asked("AddV2", PAIRS_A_BATCH)
            truth.asked("Sqrt", PAIRS_A_BATCH)


class Nap(tf.keras.callbacks.Callback):
    """Sleeps at the end of each batch of training."""

    def on_train_batch_end(self, batch, logs=None):
        with truth.phase("sleeping callback", sleep_s=0.03):
            time.sleep(0.03)


rng = np.random.default_rng(0)
x, y = rng.normal(size=(32, 8)).astype("float32"), rng.normal(size=(32, 1)).astype("float32")
tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
folder = tempfile.mkdtemp()
callbacks = [Watch(), Nap(), tf.keras.callbacks.CSVLogger(os.path.join(folder, "log.csv"))]
for cycle in range(2):
    with truth.call("fit", steps=4):
        model.fit(x, y, batch_size=16, epochs=2, verbose=0, callbacks=callbacks)
    with truth.call("evaluate", steps=2):
        model.evaluate(x, y, batch_size=16, verbose=0)
    with truth.call("predict", steps=2):
        model.predict(x, batch_size=16, verbose=0)
truth.known("nothing failed: data ends by OUT_OF_RANGE only", failures=0)
truth.known("8 training steps in 2 fits; no function of one's own is traced twice by the user", steps=8, retraces=0)
truth.known("the gaps between train steps hold 20 eager ops of Watch and 30 ms of sleep each", eager_ops_a_gap=20, sleep_ms=30)
