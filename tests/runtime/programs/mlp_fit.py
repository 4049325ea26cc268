"""Sequential, Dropout, Adam, accuracy, validation data, predict."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
K = tf.keras.layers
m = tf.keras.Sequential(
    [K.Input((12,)), K.Dense(16, activation="relu"), K.Dropout(0.2), K.Dense(5)]
)
m.compile(
    "adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"]
)
x = np.random.rand(40, 12).astype("f")
y = np.arange(40) % 5
h = m.fit(x, y, batch_size=16, epochs=2, verbose=2, validation_data=(x[:10], y[:10]))
print(h.history)
print("predict", m.predict(x[:3], verbose=0))
print("evaluate", m.evaluate(x, y, batch_size=20, verbose=0))
print("many", m.predict(x[:9], batch_size=4, verbose=0).sum())
