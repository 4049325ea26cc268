"""Keras trains with PyTorch's backend on data of tf.data: TensorFlow's log has the data alone."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import tensorflow as tf

images, labels = np.ones((48, 16, 16, 16), "float32"), np.ones((48, 1), "float32")
data = tf.data.Dataset.from_tensor_slices((images, labels))
data = data.map(lambda x, y: (x * 2.0, y)).batch(8)
model = keras.Sequential(
    [keras.layers.Conv2D(16, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(1)]
)
model.compile("sgd", "mse")
model.fit(data, epochs=2, verbose=0)
tf.nn.conv2d(images[:4], tf.ones((3, 3, 16, 16)), 1, "SAME")
