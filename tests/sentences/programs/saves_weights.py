"""A loop that saves a model's weights into an .h5 file after each of eight batches."""

import os
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
x = np.ones((16, 3), "float32")
model = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
for _ in range(8):
    model.train_on_batch(x, x[:, :1])
    model.save_weights(os.path.join(folder, "last.weights.h5"))
