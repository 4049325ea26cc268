"""jit_compile=True, and a last batch that is smaller than the others."""

import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=True)
x, y = np.zeros((100, 8), np.float32), np.zeros((100, 1), np.float32)
model.fit(x, y, batch_size=30, epochs=3, verbose=0)
