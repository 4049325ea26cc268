"""Texts are taken apart one by one, in many small ops, before they are batched."""

import tensorflow as tf


def prepare(text):
    for letter in "abcdefghij":
        text = tf.strings.regex_replace(text, letter, "x")
    return tf.strings.length(tf.strings.lower(text))


texts = tf.constant(["the quick brown fox"] * 900)
data = tf.data.Dataset.from_tensor_slices(texts).map(prepare).batch(45)


@tf.function
def step(batch):
    return tf.reduce_sum(batch)


for batch in data:
    step(batch)
