"""A Keras model with a grouped convolution: `train` or `predict`, and `ungrouped` training."""

import sys

import keras
import numpy as np

how = sys.argv[1]
groups = 1 if how == "ungrouped" else 2
model = keras.Sequential(
    [
        keras.Input((24, 24, 8)),
        keras.layers.Conv2D(16, 3, groups=groups, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(1),
    ]
)
x = np.ones((96, 24, 24, 8), "float32")
if how == "predict":
    model.predict(x, batch_size=8, verbose=0)
else:
    model.compile("sgd", "mse")
    model.fit(x, np.ones((96, 1), "float32"), batch_size=8, epochs=1, verbose=0)
