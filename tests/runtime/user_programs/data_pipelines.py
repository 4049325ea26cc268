"""What can be made of datasets."""

import numpy as np
import tensorflow as tf

ds = (
    tf.data.Dataset.range(10)
    .filter(lambda x: x % 2 == 0)
    .map(lambda x: x * x)
    .batch(2, drop_remainder=True)
)
print([t.numpy().tolist() for t in ds], ds)

ds = tf.data.Dataset.from_tensor_slices({"a": [1, 2, 3], "b": [[1.0], [2.0], [3.0]]})
print(ds.element_spec)
for e in ds.take(1):
    print(e)

a = tf.data.Dataset.range(3)
b = tf.data.Dataset.range(3, 6)
print(
    list(tf.data.Dataset.zip((a, b)).as_numpy_iterator()),
    list(a.concatenate(b).as_numpy_iterator()),
)

print(
    list(
        tf.data.Dataset.range(3)
        .interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2), cycle_length=2)
        .as_numpy_iterator()
    )
)
print(
    list(tf.data.Dataset.range(3).flat_map(lambda x: tf.data.Dataset.range(x)).as_numpy_iterator())
)

print(
    [
        w.numpy().tolist() if hasattr(w, "numpy") else list(w.as_numpy_iterator())
        for w in tf.data.Dataset.range(5).window(2, shift=1, drop_remainder=True)
    ]
)

print(
    list(
        tf.data.Dataset.range(8)
        .shuffle(4, seed=1, reshuffle_each_iteration=False)
        .as_numpy_iterator()
    )
)
tf.random.set_seed(5)
print(list(tf.data.Dataset.range(8).shuffle(8).as_numpy_iterator()))

print(
    list(tf.data.Dataset.range(6).skip(1).shard(2, 0).enumerate().as_numpy_iterator()),
    tf.data.Dataset.range(6).cardinality().numpy(),
    len(tf.data.Dataset.range(7).batch(2)),
)

ds = tf.data.Dataset.from_tensor_slices([1, 2, 3]).scan(0, lambda s, x: (s + x, s + x))
print(list(ds.as_numpy_iterator()))

ds = tf.data.Dataset.range(1, 5).padded_batch
ds = tf.data.Dataset.range(1, 5).map(lambda x: tf.fill([x], x)).padded_batch(2)
print([b.numpy().tolist() for b in ds])

ds = tf.data.Dataset.range(5).cache().prefetch(tf.data.AUTOTUNE).repeat(2)
print(list(ds.as_numpy_iterator()))
it = iter(tf.data.Dataset.range(2))
print(next(it), it.get_next())
print(it.get_next_as_optional().has_value())

try:
    it = iter(tf.data.Dataset.range(1))
    next(it)
    next(it)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])


@tf.function
def total(ds):
    s = tf.constant(0, tf.int64)
    for x in ds:
        s += x
    return s


print(total(tf.data.Dataset.range(10)))

print(
    list(tf.data.Dataset.range(10).unbatch().as_numpy_iterator())
    if False
    else list(tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]]).unbatch().as_numpy_iterator())
)

print(list(tf.data.Dataset.range(10).take_while(lambda x: x < 4).as_numpy_iterator()))

ds = tf.data.Dataset.range(4).map(lambda x: tf.py_function(lambda v: v.numpy() + 1, [x], tf.int64))
print(list(ds.as_numpy_iterator()))

ds = tf.data.Dataset.from_tensor_slices(["a b", "c"]).map(tf.strings.length)
print(list(ds.as_numpy_iterator()))
ds = tf.data.Dataset.from_tensor_slices(["a b", "c"]).map(lambda s: tf.strings.upper(s))
print(list(ds.as_numpy_iterator()))

print(tf.data.Dataset.range(5).reduce(tf.constant(0, tf.int64), lambda a, b: a + b).numpy())
print(
    tf.data.Dataset.from_tensors([1, 2]).element_spec,
    tf.data.experimental.cardinality(tf.data.Dataset.range(3)).numpy(),
)

ds = tf.data.Dataset.range(6).group_by_window(
    key_func=lambda x: x % 2, reduce_func=lambda k, d: d.batch(3), window_size=3
)
print([b.numpy().tolist() for b in ds])

ds = tf.data.Dataset.from_tensor_slices([1, 2, 2, 3, 3]).unique()
print(list(ds.as_numpy_iterator()))

try:
    tf.data.Dataset.from_tensor_slices(([1, 2], [1, 2, 3]))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

ds = tf.data.Dataset.choose_from_datasets(
    [tf.data.Dataset.range(3), tf.data.Dataset.range(10, 13)],
    tf.data.Dataset.from_tensor_slices(np.array([0, 1, 0], "int64")),
)
print(list(ds.as_numpy_iterator()))

ds = tf.data.Dataset.from_tensor_slices([1.0, np.nan, 2.0]).apply(
    tf.data.experimental.ignore_errors()
)
print(list(ds.as_numpy_iterator()))

ds = tf.data.Dataset.range(3).map(lambda x: tf.random.stateless_uniform([], [x, x]))
print(list(ds.as_numpy_iterator()))

print(
    list(tf.data.Dataset.range(3).rebatch(2).as_numpy_iterator())
    if False
    else [b.tolist() for b in tf.data.Dataset.range(5).batch(2).rebatch(3).as_numpy_iterator()]
)
