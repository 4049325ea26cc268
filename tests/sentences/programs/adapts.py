"""A layer learns its words from a dataset of texts: one by one, or in `batches`."""

import sys

import keras
import tensorflow as tf

texts = tf.data.Dataset.from_tensor_slices([f"word{i} and word{i % 7}" for i in range(120)])
layer = keras.layers.TextVectorization(max_tokens=50, output_sequence_length=4)
layer.adapt(texts.batch(32) if sys.argv[1] == "batches" else texts)
