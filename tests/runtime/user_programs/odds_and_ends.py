import numpy as np
import tensorflow as tf

print(tf.__version__)
a = tf.constant([[1, 2, 3], [4, 5, 6]])
print(a, a.dtype, a.shape, a.ndim, len(a))
print(a + 1, a * 2, a / 2, a // 2, a % 2, a**2, -a, abs(a))
print(tf.cast(a, tf.float32) @ tf.ones([3, 1]))
print(a[0], a[:, 1], a[-1, ::2], a[..., tf.newaxis].shape)
print(
    tf.reduce_sum(a, axis=0),
    tf.reduce_mean(tf.cast(a, tf.float64)),
    tf.math.reduce_std(tf.cast(a, tf.float32)),
)
print(tf.concat([a, a], 0).shape, tf.stack([a, a]).shape, tf.unstack(a, axis=1))
print(tf.gather(a, [2, 0], axis=1), tf.gather_nd(a, [[0, 0], [1, 2]]))
print(
    tf.scatter_nd([[0], [2]], [10.0, 20.0], [4]),
    tf.tensor_scatter_nd_update([1.0, 2.0, 3.0], [[1]], [9.0]),
)
print(tf.where(a > 3), tf.where(a > 3, a, 0))
print(tf.one_hot([0, 2], 3), tf.eye(2), tf.range(3, 10, 3), tf.linspace(0.0, 1.0, 3))
print(tf.einsum("ij,kj->ik", tf.cast(a, tf.float32), tf.cast(a, tf.float32)))
print(
    tf.sort([3, 1, 2]),
    tf.argsort([3.0, 1.0, 2.0], direction="DESCENDING"),
    tf.math.top_k([1.0, 5.0, 3.0], 2),
)
print(
    tf.strings.join(["a", "b"], "-"),
    tf.strings.length("hello"),
    tf.strings.upper("abc"),
    tf.strings.as_string(3.5),
)
print(tf.constant("héllo"), tf.constant(["a", "b"]))
print(tf.zeros_like(a), tf.ones([2], tf.int64), tf.fill([2, 2], 7.0))
print(tf.clip_by_value([1.0, 5.0, -2.0], 0.0, 3.0), tf.norm([3.0, 4.0]), tf.math.cumsum([1, 2, 3]))
print(
    tf.reshape(tf.range(6), [2, -1]),
    tf.transpose(a),
    tf.expand_dims(a, 0).shape,
    tf.squeeze(tf.zeros([1, 2, 1])).shape,
)
print(
    tf.tile([1, 2], [2]),
    tf.pad([[1, 2]], [[1, 0], [0, 1]]),
    tf.repeat([1, 2], 2),
    tf.reverse([1, 2, 3], [0]),
)
print(tf.equal([1, 2], [1, 3]), tf.reduce_any([True, False]), tf.logical_and(True, [True, False]))
print(
    tf.unique([1, 1, 2]),
    tf.math.bincount([1, 1, 3]),
    tf.boolean_mask([1, 2, 3], [True, False, True]),
)
print(tf.split(tf.range(6), 3), tf.split([1.0, 2.0, 3.0], [1, 2]))
print(
    tf.linalg.matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]),
    tf.linalg.inv([[2.0, 0.0], [0.0, 4.0]]),
    tf.linalg.det([[1.0, 2.0], [3.0, 4.0]]),
)
print(
    tf.nn.softmax([1.0, 2.0, 3.0]),
    tf.nn.relu([-1.0, 1.0]),
    tf.nn.sigmoid(0.0),
    tf.nn.gelu([1.0]),
    tf.nn.log_softmax([1.0, 2.0]),
)
v = tf.Variable([1.0, 2.0], name="v")
print(v, v + 1, v.assign_add([1.0, 1.0]), v.read_value(), v.numpy(), v.dtype, v.trainable)
v[0].assign(10.0)
print(v)
for t in (
    lambda: a @ a,
    lambda: tf.constant([1, 2]) + tf.constant([1.0, 2.0]),
    lambda: tf.reshape(a, [4]),
    lambda: a[5],
    lambda: tf.gather([1, 2], [3]),
    lambda: tf.concat([a, tf.zeros([3, 2], tf.int32)], 0),
    lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])),
    lambda: tf.ones([2]) + tf.ones([3]),
    lambda: tf.constant([1, 2], shape=[3]),
    lambda: tf.constant("a") + 1,
    lambda: tf.squeeze(a, 0),
    lambda: bool(a),
    lambda: tf.cast("a", tf.int32),
    lambda: v.assign([1.0, 2.0, 3.0]),
    lambda: tf.debugging.assert_equal(1, 2),
    lambda: tf.stack([[1], [1, 2]]),
    lambda: tf.split([1, 2, 3], 2),
    lambda: tf.transpose(a, [0, 0]),
    lambda: tf.raw_ops.AddV2(x=1.0, y=2),
    lambda: tf.convert_to_tensor([1.5], tf.int32),
    lambda: tf.constant([[1, 2], [3]]),
):
    try:
        print(t())
    except Exception as e:
        print(type(e).__name__, str(e).split("}} ")[-1][:200])
