"""Six models that Keras compiles with an optimizer's name, and one of them saved once."""

import os
import tempfile

import numpy as np
import tensorflow as tf

x = np.ones((16, 3), "float32")
models = []
for units in (1, 2, 3, 4, 5, 6):
    model = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(units)])
    model.compile("adam", "mse")
    models.append(model)
models[0].fit(x, x[:, :1], verbose=0)
models[0].save_weights(os.path.join(tempfile.mkdtemp(), "one.weights.h5"))
