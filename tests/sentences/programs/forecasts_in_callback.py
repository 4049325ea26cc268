"""A callback asks the model for a forecast hour by hour: by `predict`, or `predict_on_batch` (`batches`)."""

import sys

import numpy as np
import tensorflow as tf

series = np.sin(np.arange(200) / 5).astype("float32")
x = np.stack([series[i : i + 8] for i in range(64)])
model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")


class Forecast(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        window = x[:16]
        for _ in range(3):
            if sys.argv[1] == "predict":
                step = self.model.predict(window, verbose=0)
            else:
                step = self.model.predict_on_batch(window)
            window = np.concatenate([window[:, 1:], step], axis=1)


model.fit(x, series[8:72, None], batch_size=32, epochs=4, verbose=0, callbacks=[Forecast()])
