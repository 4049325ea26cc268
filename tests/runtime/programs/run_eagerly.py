"""Keras op by op."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(6)
tf.config.run_functions_eagerly(True)
m = tf.keras.Sequential([
    tf.keras.layers.Input((6,)), tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.LayerNormalization(),
    tf.keras.layers.Dropout(0.1), tf.keras.layers.Dense(2),
])  # fmt: skip
m.compile("sgd", tf.keras.losses.MeanSquaredError(), run_eagerly=True, metrics=["mae"])
x = np.random.rand(12, 6).astype("f")
y = np.random.rand(12, 2).astype("f")
print(m.fit(x, y, batch_size=6, epochs=2, verbose=0).history)
print(m.predict(x[:2], verbose=0))
print(m.train_on_batch(x, y), m.test_on_batch(x, y), m.predict_on_batch(x[:1]))
