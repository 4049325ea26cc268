"""A Keras model of dense layers under mixed_bfloat16 (argument float32: not)."""

import sys
import time

import numpy as np
from tensorflow import keras

if "float32" not in sys.argv:
    keras.mixed_precision.set_global_policy("mixed_bfloat16")

layers = [keras.layers.Dense(256, activation="relu") for _ in range(3)]
model = keras.Sequential([keras.Input((128,)), *layers, keras.layers.Dense(1, dtype="float32")])
model.compile("sgd", "mse")
rng = np.random.default_rng(1)
x, y = rng.normal(size=(2048, 128)).astype("float32"), np.zeros((2048, 1), "float32")
model.fit(x, y, batch_size=128, epochs=1, verbose=0)
began, cpu = time.perf_counter(), time.process_time()
model.fit(x, y, batch_size=128, epochs=2, verbose=0)
took = (time.perf_counter() - began, time.process_time() - cpu)
print("32 steps: {:.3f} s, processor time {:.3f} s".format(*took))
