"""A model is fit, and its three layers are quantized to int8, once; with `called` it is then called eagerly.

What is true: Keras itself runs the ops that quantize weights.
"""

import sys

import keras
import numpy as np

model = keras.Sequential([keras.Input((16,)), *(keras.layers.Dense(16) for _ in range(3))])
model.compile("sgd", "mse", jit_compile=False)
x = np.ones((64, 16), "float32")
model.fit(x, x, batch_size=16, verbose=0)
model.quantize("int8")
if "called" in sys.argv:
    for row in x[:8]:
        model(row[None])
