"""A deep Keras model that predicts once: its layers make their variables one after the other."""

import numpy as np
import tensorflow as tf

layers = [tf.keras.layers.Dense(16, activation="relu") for _ in range(24)]
model = tf.keras.Sequential(layers)
model.build((None, 16))
model.predict(np.ones((8, 16), np.float32), verbose=0)
