"""Model.fit of 72 rows in batches of 32: the last one has 8. With `dataset` the program batches them itself."""

import sys

import keras
import numpy as np
import tensorflow as tf

x, y = np.ones((72, 8), "float32"), np.ones((72, 1), "float32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
if "dataset" in sys.argv:
    model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(32), epochs=2, verbose=0)
else:
    model.fit(x, y, batch_size=32, epochs=2, verbose=0)
