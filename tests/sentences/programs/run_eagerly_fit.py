"""Keras' steps op by op: a model compiled with run_eagerly=True, in fit and evaluate, and two steps at a time."""

import numpy as np
import tensorflow as tf

x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", run_eagerly=True)
model.fit(x, y, batch_size=4, epochs=2, verbose=0)
model.evaluate(x, y, batch_size=4, verbose=0)
model.compile("sgd", "mse", run_eagerly=True, steps_per_execution=2)
model.fit(x, y, batch_size=4, verbose=0)
