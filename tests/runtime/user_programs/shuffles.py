"""Iterators over shuffled data reshuffle in the order in which they were made."""

import tensorflow as tf

for f in (lambda d: d, lambda d: d.batch(2), lambda d: d.map(lambda x: x), lambda d: d.prefetch(1)):
    ds = f(tf.data.Dataset.range(8).shuffle(8, seed=5))
    a = iter(ds)
    print([i.numpy().tolist() for i in ds])

ds = tf.data.Dataset.range(6).shuffle(6, seed=3).repeat(2)
one, two = iter(ds), iter(ds)
print([int(i) for i in two], [int(i) for i in one])
