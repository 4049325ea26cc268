"""Gradients that are slices through functions, second derivatives, statistics, structures."""

import sys

import tensorflow as tf

table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@tf.function
def looked_up(rows):
    return tf.reduce_sum(tf.nn.embedding_lookup(table, rows) ** 2)


with tf.GradientTape() as tape:
    loss = looked_up(tf.constant([2, 0, 2]))
slices = tape.gradient(loss, table)
print(slices)
table.scatter_sub(tf.IndexedSlices(0.1 * slices.values, slices.indices))
print(table.numpy())


@tf.function
def both(rows):
    return looked_up(rows) + tf.reduce_sum(table)


with tf.GradientTape() as tape:
    loss = both(tf.constant([1]))
print(tape.gradient(loss, table))
with tf.GradientTape(persistent=True) as tape:
    loss = looked_up(tf.constant([1])) + looked_up(tf.constant([0, 1]))
print(tape.gradient(loss, table))


@tf.function
def second(x):
    return tf.hessians(tf.reduce_sum(x**3) + x[0] * x[1], x)


print(second(tf.constant([1.0, 2.0])))
x = tf.Variable(1.3)
with tf.GradientTape() as tape:
    y = tf.grad_pass_through(tf.round)(x * 3.0)
print(y, tape.gradient(y, x))
with tf.GradientTape() as tape:
    y = tf.stack([x, x * x])
print(tape.jacobian(y, x), tape.watched_variables())
print(tf.nn.sufficient_statistics(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [0]))
print(tf.nn.normalize_moments(2.0, [2.0], [4.0], None))
print(tf.nn.weighted_moments([1.0, 3.0], [0], [1.0, 3.0]))
print(tf.nn.log_poisson_loss([1.0, 3.0], [0.3, 0.5], compute_full_loss=True))
print(tf.math.is_non_decreasing([1, 1, 2]), tf.math.is_strictly_increasing([1.0, 1.0]))
print(tf.nest.flatten([slices, 1], expand_composites=True)[1], tf.type_spec_from_value(loss))
print(tf.einsum("...ij->...ji", tf.reshape(tf.range(6.0), [2, 3])))
print(tf.debugging.assert_same_float_dtype([x], tf.float32), tf.string.as_numpy_dtype)
print(x.aggregation, x.synchronization)
tf.print("braces", [x], output_stream=sys.stdout)
average = tf.train.ExponentialMovingAverage(0.5)
average.apply([x])
x.assign(3.3)
average.apply([x])
print(average.average(x))
words = tf.data.Dataset.from_tensor_slices(["a", "bb", "ccc", "dd", "e", "ffff"])
windows = words.group_by_window(
    key_func=lambda word: tf.cast(tf.strings.length(word), tf.int64) % 2,
    reduce_func=lambda _, group: group.batch(2),
    window_size=2,
)
print([each.numpy().tolist() for each in windows])
for refused in (
    lambda: tf.repeat([1, 2], [1, 2, 3]),
    lambda: tf.constant([1]).set_shape([3]),
    lambda: tf.debugging.assert_same_float_dtype([tf.constant(1)]),
    lambda: tf.debugging.assert_proper_iterable("text"),
):
    try:
        print(refused())
    except Exception as error:
        print(type(error).__name__, error)
