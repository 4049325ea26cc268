"""Three models, each of which predicts for the same rows five times."""

import keras
import numpy as np

rows = np.random.default_rng(0).random((64, 8), np.float32)
for _ in range(3):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    for threshold in range(5):
        (model.predict(rows, verbose=0) > threshold / 5).mean()
