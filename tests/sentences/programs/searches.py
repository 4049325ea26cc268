"""Models of two widths, each compiled anew for every learning rate and fitted to the same data."""

import keras
import numpy as np

x = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
y = x[:, :1]
for width in (4, 6):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(width), keras.layers.Dense(1)])
    for rate in (0.1, 0.03, 0.01, 0.003):
        model.compile(keras.optimizers.SGD(rate), "mse")
        model.fit(x, y, batch_size=8, verbose=0)
