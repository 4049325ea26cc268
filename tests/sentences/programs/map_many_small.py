"""A map of 100 small ops for each element, on one thread, in front of a small Keras model."""

import numpy as np
import tensorflow as tf


def augment(image, label):
    for _ in range(12):
        image = tf.image.random_brightness(image, 0.1)
        image = tf.clip_by_value(image, 0.0, 1.0)
    return image, label


images = np.random.rand(64, 32, 32, 3).astype("float32")
labels = np.random.randint(0, 10, 64)
data = tf.data.Dataset.from_tensor_slices((images, labels)).map(augment).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(data, epochs=1, verbose=0)
