"""A callback that evaluates the model after each of six batches."""

import numpy as np
import tensorflow as tf

x, y = np.ones((24, 3), "float32"), np.ones((24, 1), "float32")


class Best(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.model.evaluate(x[:4], y[:4], verbose=0)


model = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=4, verbose=0, callbacks=[Best()])
