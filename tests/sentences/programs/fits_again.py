"""One model, fitted to the same arrays again and again, an epoch at a time."""

import keras
import numpy as np

x = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
y = x[:, :1]
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", "mse")
for epoch in range(6):
    model.fit(x, y, batch_size=8, verbose=0)
