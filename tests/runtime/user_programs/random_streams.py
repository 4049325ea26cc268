"""Which random numbers come when: eagerly, in functions, in loops, in layers and data sets."""

import numpy as np
import tensorflow as tf


def show(label, result):
    print(label)
    try:
        print(result())
    except Exception as error:
        print(type(error).__name__, str(error)[:200])


tf.random.set_seed(3)


@tf.function
def f(n):
    return [
        getattr(tf.random, k)([n], seed=s)
        for k, s in (("normal", None), ("uniform", 4), ("truncated_normal", None))
    ]


show("f twice", lambda: [[t.numpy() for t in f(3)] for _ in range(2)])
show("f other n", lambda: [t.numpy() for t in f(5)])


@tf.function
def loop(n):
    s = tf.zeros([2])
    for i in tf.range(n):
        s += tf.random.normal([2], seed=7)
    return s


show("loop", lambda: (loop(tf.constant(3)), loop(tf.constant(3))))


@tf.function
def shuf():
    return tf.random.shuffle(tf.range(6), seed=2)


show("shuffle fn", lambda: (shuf(), shuf(), shuf()))
show(
    "uniform int fn",
    lambda: (lambda g: (g(), g(), g()))(
        tf.function(lambda: tf.random.uniform([3], 0, 50, tf.int32, seed=1))
    ),
)
show(
    "categorical fn",
    lambda: (lambda g: (g(), g()))(
        tf.function(lambda: tf.random.categorical([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]], 5, seed=1))
    ),
)
show(
    "categorical eager",
    lambda: [tf.random.categorical([[0.5, 0.5, 0.1]], 4).numpy().tolist() for _ in range(3)],
)
show("eager shuffles", lambda: [tf.random.shuffle(tf.range(5)).numpy().tolist() for _ in range(3)])
show("eager seeded", lambda: [tf.random.uniform([2], seed=5).numpy().tolist() for _ in range(3)])
show(
    "dropout fn",
    lambda: (lambda g: (g(), g()))(tf.function(lambda: tf.nn.dropout(tf.ones([8]), 0.4, seed=3))),
)
show(
    "keras dropout",
    lambda: (
        tf.keras.utils.set_random_seed(1),
        (lambda d: [d(tf.ones([6]), training=True).numpy().tolist() for _ in range(2)])(
            tf.keras.layers.Dropout(0.5)
        ),
    )[1],
)
show(
    "keras dropout seed",
    lambda: (lambda d: [d(tf.ones([6]), training=True).numpy().tolist() for _ in range(2)])(
        tf.keras.layers.Dropout(0.5, seed=3)
    ),
)
show(
    "gaussian noise",
    lambda: tf.keras.layers.GaussianNoise(1.0, seed=3)(tf.zeros([4]), training=True),
)
show(
    "spatial",
    lambda: tf.keras.layers.SpatialDropout1D(0.5)(tf.ones([1, 3, 4]), training=True).shape,
)
show(
    "large normal",
    lambda: (
        tf.random.set_seed(2),
        tf.reduce_sum(tf.random.normal([300, 40])).numpy(),
        tf.random.normal([300, 40])[299, 35:].numpy(),
    )[1:],
)
show("uniform f64", lambda: tf.random.uniform([3], dtype=tf.float64, seed=1))
show("uniform f16", lambda: tf.random.uniform([3], dtype=tf.float16, seed=1))
show("uniform bf16", lambda: tf.random.uniform([3], dtype=tf.bfloat16, seed=1))
show("int64", lambda: tf.random.uniform([3], -5, 500000000000, tf.int64, seed=1))
show("normal f16", lambda: tf.random.normal([5], dtype=tf.float16, seed=1))
show("normal f64", lambda: tf.random.normal([5], dtype=tf.float64, seed=1))
show("normal bf16", lambda: tf.random.normal([5], dtype=tf.bfloat16, seed=1))
show("trunc f64", lambda: tf.random.truncated_normal([5], dtype=tf.float64, seed=1))
show("mean std", lambda: tf.random.normal([3], 5.0, 0.1, seed=9))
show(
    "ds shuffle",
    lambda: [list(tf.data.Dataset.range(6).shuffle(3, seed=s).as_numpy_iterator()) for s in (1, 2)],
)
show(
    "ds map random",
    lambda: [
        float(x) for x in tf.data.Dataset.range(3).map(lambda _: tf.random.uniform([], seed=4))
    ],
)
show(
    "two epochs map random",
    lambda: (lambda d: [[float(x) for x in d] for _ in range(2)])(
        tf.data.Dataset.range(2).map(lambda _: tf.random.uniform([], seed=4))
    ),
)
show(
    "init seeded twice",
    lambda: (lambda i: (i([2]), i([2])))(tf.keras.initializers.RandomNormal(seed=1)),
)
show("module", lambda: (tf.random.set_seed(4), tf.Variable(tf.random.normal([2])).numpy())[1])
show("np seed", lambda: (np.random.seed(0), tf.constant(np.random.rand(2))))
show(
    "stateless loop",
    lambda: [tf.random.stateless_uniform([1], [i, 0]).numpy()[0] for i in range(3)],
)
show(
    "experimental shuffle",
    lambda: tf.random.experimental.stateless_shuffle([1, 2, 3, 4], seed=[8, 9]),
)
show(
    "global op counter",
    lambda: (
        tf.random.set_seed(7),
        [
            tf.random.uniform([1]).numpy()[0],
            tf.random.normal([1]).numpy()[0],
            tf.random.uniform([1]).numpy()[0],
        ],
    )[1],
)
