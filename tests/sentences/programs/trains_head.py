"""Three epochs of a head on a model: `frozen`, `augmented` (and frozen) or `trained`."""

import sys

import keras
import numpy as np

images = np.random.default_rng(0).random((96, 32, 32, 3), np.float32)
labels = np.arange(96) % 4
body = keras.Sequential(
    [
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
    ],
    name="body",
)
body.trainable = sys.argv[1] == "trained"
layers = [keras.layers.RandomFlip("horizontal")] * (sys.argv[1] == "augmented")
head = [keras.layers.Dropout(0.2), keras.layers.Dense(4)]
model = keras.Sequential([*layers, body, *head])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(images, labels, batch_size=16, epochs=3, verbose=0)
