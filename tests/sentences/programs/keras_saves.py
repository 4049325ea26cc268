"""Keras fit with TensorBoard and checkpoints, a SavedModel and a conversion; one eager op of the program's own at the end."""

import tempfile

import numpy as np
import tensorflow as tf

x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)
inputs = tf.keras.Input((2,))
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(inputs))
model.compile("sgd", "mse")
with tempfile.TemporaryDirectory() as folder:
    callbacks = [
        tf.keras.callbacks.TensorBoard(folder, histogram_freq=1, update_freq=1),
        tf.keras.callbacks.ModelCheckpoint(folder + "/best.weights.h5", save_weights_only=True, save_best_only=True, monitor="loss"),
    ]
    model.fit(x, y, batch_size=4, epochs=2, verbose=0, callbacks=callbacks)
    checkpoint = tf.train.Checkpoint(model=model)
    manager = tf.train.CheckpointManager(checkpoint, folder + "/all", max_to_keep=1)
    manager.save()
    manager.save()
    checkpoint.restore(manager.latest_checkpoint)
    tf.saved_model.save(model, folder + "/saved")
    loaded = tf.saved_model.load(folder + "/saved")
    loaded.signatures["serving_default"](tf.ones((1, 2)))
    tf.lite.TFLiteConverter.from_keras_model(model).convert()
    model.save(folder + "/whole.keras")
    tf.keras.models.load_model(folder + "/whole.keras").predict(x, verbose=0)
print(tf.math.sqrt(2.0))
