"""A fit whose callback sleeps after each step, and asks for nothing."""

import time

import numpy as np
import tensorflow as tf


class Sleep(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.02)


x = np.ones((8, 2), np.float32)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x[:, :1], batch_size=1, verbose=0, callbacks=[Sleep()])
