"""Predicts each batch of a dataset, and saves the weights when all are done."""

import keras
import tensorflow as tf

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
for batch in tf.data.Dataset.from_tensors(tf.ones((8, 4))).repeat(4):
    model.predict(batch, verbose=0)
model.save_weights("saved.weights.h5")
