"""Keras' steps op by op, a batch at a time: train_on_batch and test_on_batch of a model compiled with run_eagerly=True."""

import numpy as np
import tensorflow as tf

x, y = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", run_eagerly=True)
for _ in range(3):
    model.train_on_batch(x, y)
model.test_on_batch(x, y)
