"""Strings, rows of different lengths, and data sets cut up and put together in other ways."""

import numpy as np
import tensorflow as tf

lines = tf.constant(["the quick fox", "jumps", "over the dog"])
words = tf.strings.split(lines)
print(words)
print(words.to_list(), words.shape, words.row_lengths(), words.nrows())
print(words.to_tensor(default_value="-"))
print(words[0], words[1:], [row.shape[0] for row in words])
print(tf.strings.split("a,b,,c", sep=","), tf.strings.bytes_split("abc"))
print(tf.strings.unicode_split(["hé", "ü"], "UTF-8"))
print(tf.strings.to_number(tf.strings.split("1 10 100")))
ragged = tf.ragged.constant([[1, 2], [], [3]])
print(ragged, ragged.shape, ragged.dtype, ragged.to_tensor(), ragged.flat_values)
print(tf.RaggedTensor.from_row_splits([5, 6, 7], [0, 2, 2, 3]))
print(tf.RaggedTensor.from_row_lengths([5, 6, 7], [1, 2]))


@tf.function
def count(text):
    parts = tf.strings.split(text)
    return tf.size(parts), tf.strings.reduce_join(tf.reverse(parts, [0]), separator=" ")


print(count(tf.constant("one two three")))

Dataset = tf.data.Dataset


def listed(dataset, n=8):
    return [
        tf.nest.map_structure(lambda each: each.numpy().tolist(), element)
        for element in dataset.take(n)
    ]


sequences = Dataset.from_generator(
    lambda: [[1], [1, 2], [1, 2, 3], [4], [7, 8, 9, 10]],
    output_signature=tf.TensorSpec([None], tf.int32),
)
print(listed(sequences.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 4], [2, 2, 1])))
print(listed(Dataset.random(seed=4), 3))
mixed = Dataset.sample_from_datasets(
    [Dataset.range(4), Dataset.range(10, 14)], weights=[0.3, 0.7], seed=2
)
print(listed(mixed, 20))
print(Dataset.from_tensors({"a": 3}).get_single_element())
inverse = Dataset.from_tensor_slices([1.0, 0.0, 2.0]).map(
    lambda x: tf.debugging.check_numerics(1.0 / x, "bad")
)
print(listed(inverse.ignore_errors()))
print(listed(tf.data.experimental.Counter(3, 2), 3))
known = Dataset.range(5).filter(lambda x: x < 3).apply(tf.data.experimental.assert_cardinality(3))
print(len(known), listed(known), tf.data.experimental.get_structure(known))
print(tf.vectorized_map(lambda x: tf.reduce_sum(x * x), tf.reshape(tf.range(6.0), [3, 2])))
print(tf.gather_nd(np.arange(12).reshape(3, 4), [[1], [0], [2]], batch_dims=1))
