"""mixed_float16, which is meant for GPUs, on a CPU."""

import numpy as np
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
layers = tf.keras.layers
model = tf.keras.Sequential(
    [
        tf.keras.Input((12, 12, 3)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(10, dtype="float32"),
    ]
)
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
x, y = np.zeros((64, 12, 12, 3), np.float32), np.zeros(64, np.int32)
model.fit(x, y, batch_size=8, verbose=0)
