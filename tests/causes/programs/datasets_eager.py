import numpy as np, tensorflow as tf, tempfile, os

D = tf.data.Dataset
d = tempfile.mkdtemp()
for i in range(3):
    open(os.path.join(d, f"f{i}.txt"), "w").write("a\nb\n")
print([len(x.numpy()) for x in D.list_files(os.path.join(d, "*.txt"))])
print(
    len(
        list(
            D.list_files(os.path.join(d, "*.txt")).interleave(
                tf.data.TextLineDataset, cycle_length=2
            )
        )
    )
)
ds = (
    D.from_tensor_slices((np.arange(20.0), np.arange(20)))
    .shuffle(8, seed=3)
    .map(lambda a, b: (a * 2, b))
    .batch(4)
    .prefetch(1)
)
for e in range(2):
    for a, b in ds:
        s = tf.reduce_sum(a) * tf.cast(b[0], tf.float64)
it = iter(ds)
print(next(it)[0].shape, ds.cardinality().numpy(), len(ds))
print(
    len(
        list(
            D.sample_from_datasets([D.range(5), D.range(5)], weights=[0.5, 0.5])
            if hasattr(D, "sample_from_datasets")
            else D.range(3)
        )
    )
)
print(len(list(D.range(10).cache().repeat(2).take(5).skip(1).filter(lambda x: x > 0).enumerate())))
print(D.range(5).reduce(np.int64(0), lambda a, b: a + b).numpy())


def gen():
    for i in range(4):
        yield i


print(sum(int(x) for x in D.from_generator(gen, output_signature=tf.TensorSpec((), tf.int32))))
print(len(list(D.zip((D.range(3), D.range(3, 6))).window(2, drop_remainder=True))))
print(
    list(D.random(seed=4).take(2).as_numpy_iterator())[:0],
    len(list(D.range(6).shard(2, 0).concatenate(D.range(2)))),
)


@tf.function
def total(ds):
    s = tf.constant(0, tf.int64)
    for x in ds:
        s += x
    return s


print(int(total(D.range(6))))
