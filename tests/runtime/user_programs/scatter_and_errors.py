import io
import unittest

import numpy as np
import tensorflow as tf


@tf.function
def bucket(values, idx, n):
    s = tf.math.unsorted_segment_sum(values, idx, n)
    c = tf.math.unsorted_segment_sum(tf.ones_like(values), idx, n)
    return tf.math.divide_no_nan(s, c), tf.scatter_nd(idx[:, None], values, [n])


print(bucket(tf.constant([1.0, 2.0, 3.0, 4.0]), tf.constant([0, 1, 0, 3]), 5))
v = tf.Variable(tf.zeros([4, 2]))
v.scatter_add(tf.IndexedSlices(tf.ones([2, 2]), tf.constant([0, 0])))
v[2].assign([7.0, 8.0])
v[3, 1].assign(9.0)
print(v.numpy())
x = tf.constant(np.arange(24).reshape(2, 3, 4), tf.float32)
print(
    tf.gather(x, [1, 0], axis=1, batch_dims=0)[0, :, 0],
    tf.gather(x, [[0, 1], [1, 2]], axis=1, batch_dims=1).shape,
)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = (
        tf.reduce_sum(tf.gather(x, [0, 0], axis=2) ** 2)
        + tf.reduce_sum(x[:, ::2, 1:3])
        + tf.reduce_max(x)
    )
print(tape.gradient(y, x)[0])
print(
    tf.reduce_logsumexp(x, -1),
    tf.math.reduce_variance(x, 0)[0, 0],
    tf.math.cumsum(x, 2, reverse=True)[0, 0],
)
print(tf.tensordot(x, x, [[0, 2], [0, 2]]))
print(
    tf.nn.max_pool2d(x[..., None], 2, 1, "SAME").shape,
    tf.nn.conv2d(x[..., None], tf.ones([2, 2, 1, 3]), [1, 1, 1, 1], "SAME")[0, 0, 0],
)
print(
    tf.nn.depthwise_conv2d(tf.ones([1, 4, 4, 2]), tf.ones([3, 3, 2, 2]), [1, 1, 1, 1], "VALID")[
        0, 0, 0
    ]
)
print(
    tf.meshgrid([1, 2], [3, 4]),
    tf.roll([1, 2, 3], 1, 0),
    tf.cast(2.7, tf.int32),
    tf.cast([0, 2], tf.bool),
    tf.round([0.5, 1.5, 2.5]),
)
print(tf.math.floormod(-7, 3), -7 // tf.constant(2), tf.constant(7) % -3, tf.constant([7, -7]) / 2)
print(
    tf.constant(1e10),
    tf.constant(3.0e-8),
    tf.constant([1.5, float("nan"), float("inf")]),
    tf.constant(True),
    tf.constant(2 + 3j),
)
print(
    tf.float32.max,
    tf.int32.min,
    tf.float32.is_floating,
    tf.as_dtype("int64"),
    tf.TensorShape([None, 3]),
    tf.TensorSpec([2, None], name="t"),
)


class T(tf.test.TestCase):
    def test_close(self):
        self.assertAllClose(tf.constant([1.0, 2.0]) * 2, [2.0, 4.0])

    def test_raises(self):
        with self.assertRaises(tf.errors.InvalidArgumentError):
            tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))

    def test_raises_regex(self):
        with self.assertRaisesRegex(ValueError, "must be equal"):
            tf.function(lambda a, b: tf.matmul(a, b))(tf.ones([2, 3]), tf.ones([2, 3]))


r = unittest.TextTestRunner(stream=io.StringIO()).run(
    unittest.defaultTestLoader.loadTestsFromTestCase(T)
)
print(len(r.failures), len(r.errors))


def show(f, *a):
    try:
        print(f(*a))
    except Exception as e:
        lines = str(e).strip().splitlines() or [""]
        print(type(e).__mro__[0].__name__, "|", lines[-1].split("[Op")[0][:160])


show(tf.function(lambda: tf.ones([2]) + tf.ones([3])))
show(tf.function(lambda x: tf.reshape(x, [7])), tf.ones([2, 3]))
show(tf.function(lambda x: bool(x)), tf.constant(1))
show(tf.function(lambda x: [i for i in x], autograph=False), tf.constant([1]))
show(tf.function(lambda x: int(x)), tf.constant(1))
show(lambda: tf.Variable(1.0).assign([1.0, 2.0]))
show(lambda: tf.GradientTape().gradient(tf.constant(1.0), tf.constant(1.0)))


def twice():
    with tf.GradientTape() as t:
        x = tf.Variable(1.0)
        y = x * x
    t.gradient(y, x)
    return t.gradient(y, x)


show(twice)


@tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
def sig(x):
    return x


show(sig, tf.ones([3]))
show(sig, tf.ones([2], tf.int32))


@tf.function
def makes():
    return tf.Variable(1.0)


show(lambda: (makes(), makes()))
show(lambda: tf.constant([1, 2.5, "a"]))
show(lambda: tf.add(tf.constant(1), tf.constant(1.0)))
show(lambda: tf.one_hot([1], depth=-1))
show(lambda: tf.linalg.inv([[1.0, 1.0], [1.0, 1.0]]))
show(lambda: tf.strings.to_number("x"))
show(lambda: next(iter(tf.data.Dataset.from_tensor_slices([]))))
show(lambda: tf.argmax([[1, 3], [4, 2]], axis=5))
show(lambda: tf.range(0, 5, 0))
show(lambda: tf.split([1, 2, 3], [1, 1]))
show(lambda: tf.nn.embedding_lookup(tf.ones([2, 2]), [5]))
show(lambda: tf.nn.sparse_softmax_cross_entropy_with_logits([5], [[1.0, 2.0]]))
show(lambda: tf.debugging.assert_rank(tf.ones([2]), 2))
show(lambda: tf.debugging.check_numerics([float("nan")], "oops"))
