"""A map of small text ops, behind which a shuffle holds all rows: in each epoch (`again`), or once, as a cache keeps its results (`cached`)."""

import sys

import tensorflow as tf

WORDS = ["ten", "green", "bottles", "hanging", "on", "the", "wall", "fall"]
texts = [" ".join(WORDS[(7 * i + 3 * k) % 8] for k in range(24)) for i in range(48)]


def grams(text):
    letters = tf.strings.bytes_split(tf.strings.lower(text))
    pairs = tf.strings.ngrams(letters, 2, separator="")
    hashed = tf.cast(tf.strings.to_hash_bucket_fast(pairs, 64), tf.int32)
    return tf.math.bincount(hashed, minlength=64, dtype=tf.float32)


@tf.function
def step(batch):
    return tf.reduce_sum(tf.math.log1p(batch))


data = tf.data.Dataset.from_tensor_slices(texts).map(grams, num_parallel_calls=2)
if sys.argv[1] == "cached":
    data = data.cache()
data = data.shuffle(500).batch(16).prefetch(2)
for _ in range(4):
    for batch in data:
        step(batch)
