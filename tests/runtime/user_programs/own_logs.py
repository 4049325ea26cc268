"""Steps of a model's own give names that no metric has."""

import numpy as np
import tensorflow as tf


class M(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.d = tf.keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, x):
        return self.d(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as t:
            loss = tf.reduce_mean((self(x) - y) ** 2)
        g = t.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(g, self.trainable_variables))
        return {"loss": loss, "gn": tf.linalg.global_norm(g)}

    def test_step(self, data):
        x, y = data
        return {"foo": tf.reduce_mean((self(x) - y) ** 2)}


m = M()
m.compile(tf.keras.optimizers.SGD(0.1))
x = np.ones((8, 2), "float32")
y = np.zeros((8, 1), "float32")
h = m.fit(x, y, epochs=2, verbose=0, validation_data=(x, y), shuffle=False)
print({k: [round(float(v), 4) for v in h.history[k]] for k in sorted(h.history)})
print(m.evaluate(x, y, verbose=0, return_dict=True))
