"""Checkpoints of a variable and a conversion for TFLite, and one product outside of the function."""

import tempfile

import tensorflow as tf

w = tf.Variable(tf.ones((4, 2)))


@tf.function(input_signature=[tf.TensorSpec((None, 4))])
def layer(x):
    return tf.nn.relu(x @ w)


x = tf.ones((3, 4))
layer(x)
manager = tf.train.CheckpointManager(tf.train.Checkpoint(w=w), tempfile.mkdtemp(), max_to_keep=1)
manager.save()
manager.save()
module = tf.Module()
module.layer, module.w = layer, w
tf.saved_model.save(module, folder := tempfile.mkdtemp())
tf.lite.TFLiteConverter.from_saved_model(folder).convert()
tf.math.square(x)
