"""Keras' TimeDistributed around a Dense, over 60 time steps; the argument `dense` leaves it out."""

import sys
import time

import keras
import numpy as np

x = np.random.default_rng(0).normal(size=(64, 60, 16)).astype("float32")
y = x[:, :, :1]
layers = keras.layers
dense = layers.Dense(32, activation="relu")
model = keras.Sequential(
    [
        keras.Input((60, 16)),
        dense if sys.argv[1] == "dense" else layers.TimeDistributed(dense),
        layers.Dense(1),
    ]
)
model.compile("sgd", "mse")
began = time.perf_counter()
model.fit(x, y, epochs=2, batch_size=32, verbose=0)
print(f"{time.perf_counter() - began:.2f} s")
