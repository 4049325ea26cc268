"""Each transformation of tf.data by itself."""

import numpy as np
import tensorflow as tf

D = tf.data.Dataset
tf.random.set_seed(7)


def show(name, dataset):
    elements = [
        tuple(x.numpy().tolist() for x in each)
        if isinstance(each, tuple)
        else each.numpy().tolist()
        for each in dataset
    ]
    print(name, repr(dataset), int(dataset.cardinality()), elements)


r = D.range(7)
show("range", D.range(2, 11, 4))
show("slices", D.from_tensor_slices(([1, 2, 3], np.eye(3))))
show("tensors", D.from_tensors([1, 2, 3]))
show("map", r.map(lambda v: v * 2))
show("batch", r.batch(3))
show("dropping", r.batch(3, drop_remainder=True))
show("repeat", D.range(2).repeat(3))
show("take", r.take(2))
show("skip", r.skip(5))
show("zip", D.zip((r, D.range(3))))
show("filter", r.filter(lambda v: v % 2 == 0))
show("flat_map", D.range(3).flat_map(lambda i: D.range(i)))
show("concatenate", D.range(2).concatenate(D.range(2)))
show("enumerate", D.range(5, 8).enumerate(1))
show("prefetch", D.range(3).prefetch(1))
show("cache", D.range(3).cache())
show("scan", r.scan(np.int64(0), lambda s, v: (s + v, s * v)))
show("take_while", r.take_while(lambda v: v < 3))
show("shuffled", r.shuffle(3, seed=5))
again = r.shuffle(7, seed=5)
show("each time", again)
show("anew", again)
fixed = r.shuffle(7, seed=5, reshuffle_each_iteration=False)
show("fixed", fixed)
show("fixed", fixed)
show("repeated", D.range(4).shuffle(3, seed=2).repeat(2))
show("unseeded", D.range(5).shuffle(5))
for blocks in (1, 2):
    mixed = D.range(4).interleave(
        lambda i: D.range(i).map(lambda j: 10 * i + j), cycle_length=2, block_length=blocks
    )
    show("interleave", mixed)
print(D.from_tensor_slices({"a": [1.0, 2.0], "b": [3, 4]}).element_spec)
print(next(iter(D.from_tensor_slices({"a": [1.0, 2.0], "b": [3, 4]}))))
print(
    len(r),
    [int(n) for n in r.take(2).as_numpy_iterator()],
    r.reduce(np.int64(0), lambda a, b: a + b),
)
it = iter(r)
print(next(it), it.get_next())
for wrong in (
    lambda: iter(D.range(0)).get_next(),
    lambda: list(D.range(4).map(lambda i: tf.gather(tf.range(3), i))),
    lambda: D.from_tensor_slices(1),
    lambda: D.from_tensor_slices(([1, 2], [1, 2, 3])),
    lambda: len(r.filter(lambda v: v > 1)),
    lambda: r.filter(lambda v: v),
):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__)
