"""A layer learns its words from a dataset of texts: one by one, in `pairs`, or in `batches`."""

import sys

import keras
import tensorflow as tf

texts = tf.data.Dataset.from_tensor_slices([f"word{i} and word{i % 7}" for i in range(120)])
layer = keras.layers.TextVectorization(max_tokens=50, output_sequence_length=4)
sizes = {"batches": 32, "pairs": 2}
layer.adapt(texts.batch(sizes[sys.argv[1]]) if sys.argv[1] in sizes else texts)
