"""A Keras attention block under mixed_bfloat16 (argument float32: not)."""

import sys
import time

import numpy as np
from tensorflow import keras

if "float32" not in sys.argv:
    keras.mixed_precision.set_global_policy("mixed_bfloat16")

inputs = keras.Input((64, 96))
attended = keras.layers.MultiHeadAttention(4, 24)(inputs, inputs)
x = keras.layers.LayerNormalization()(inputs + attended)
x = keras.layers.Dense(96)(keras.layers.Dense(192, activation="relu")(x))
model = keras.Model(inputs, keras.layers.Dense(1, dtype="float32")(x))
model.compile("sgd", "mse")
rng = np.random.default_rng(1)
x, y = rng.normal(size=(32, 64, 96)).astype("float32"), np.zeros((32, 64, 1), "float32")
model.fit(x, y, batch_size=16, epochs=1, verbose=0)
began, cpu = time.perf_counter(), time.process_time()
model.fit(x, y, batch_size=16, epochs=4, verbose=0)
took = (time.perf_counter() - began, time.process_time() - cpu)
print("8 steps: {:.3f} s, processor time {:.3f} s".format(*took))
