"""Keras fit with a metric of the program's own, which a callback reads; the callback then asks for one op, a tanh."""

import numpy as np
import tensorflow as tf

x = np.ones((32, 4), "float32")


class Seen(tf.keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="seen")
        self.sum = self.add_weight(name="sum", initializer="zeros")
        self.rows = self.add_weight(name="rows", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.sum.assign_add(tf.reduce_sum(y_pred))
        self.rows.assign_add(tf.cast(tf.shape(y_pred)[0], tf.float32))

    def result(self):
        return tf.math.log1p(self.sum / self.rows)

    def reset_state(self):
        self.sum.assign(0.0)
        self.rows.assign(0.0)


class Watch(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        read = seen.result()
        tf.math.tanh(read)


seen = Seen()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", metrics=[seen])
model.fit(x, x[:, :1], epochs=2, batch_size=16, verbose=0, callbacks=[Watch()])
