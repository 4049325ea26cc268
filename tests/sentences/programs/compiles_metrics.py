"""One model, compiled and evaluated once for each of six metrics."""

import time

import keras
import numpy as np

x = np.random.default_rng(0).normal(size=(128, 16)).astype("float32")
y = (x[:, :1] > 0).astype("float32")
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1, "sigmoid")])
metrics = keras.metrics
began = time.perf_counter()
for metric in (metrics.BinaryAccuracy, metrics.AUC, metrics.Precision, metrics.Recall, metrics.MeanSquaredError, metrics.MeanAbsoluteError):
    model.compile(loss="binary_crossentropy", metrics=[metric()])
    model.evaluate(x, y, batch_size=32, verbose=0)
print(f"{time.perf_counter() - began:.2f} s")
