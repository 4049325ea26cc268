"""Keras fit with the callbacks that watch a value; the only eager op of the program's own is the last."""

import numpy as np
import tensorflow as tf

x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
watched = {"monitor": "val_loss", "patience": 1, "min_delta": 10.0}
callbacks = [tf.keras.callbacks.EarlyStopping(**watched), tf.keras.callbacks.ReduceLROnPlateau(**watched)]
model.fit(x, y, batch_size=4, epochs=4, verbose=0, validation_data=(x, y), callbacks=callbacks)
print(tf.math.less(1.0, 2.0))
