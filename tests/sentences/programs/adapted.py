"""A Keras layer that learns its words from data, and a function that uses it."""

import tensorflow as tf

texts = [f"a b{i % 3} c{i % 7}" for i in range(64)]
words = tf.keras.layers.TextVectorization(16, output_sequence_length=4)
words.adapt(texts)


@tf.function
def numbers(batch):
    return tf.reduce_sum(words(batch))


batch = tf.constant(texts[:8])
for _ in range(6):
    numbers(batch)
