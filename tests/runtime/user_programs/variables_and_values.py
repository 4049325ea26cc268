"""Modules, variables, and how values are shown."""

import numpy as np
import tensorflow as tf

v = tf.Variable([1.0, 2.0, 3.0])
print(
    v,
    v.assign_add([1.0, 1.0, 1.0]),
    v.assign_sub([0.5] * 3),
    v[1:],
    v[0].assign(9.0) if hasattr(v[0], "assign") else "",
    v.numpy(),
    v.shape,
    v.dtype,
    v.name,
    v.device,
    v.trainable,
)
print(
    v + 1,
    v * v,
    -v,
    abs(v),
    v > 2,
    v @ tf.ones([3, 1]) if 0 else "",
    tf.reduce_sum(v),
    len(v.shape),
    repr(v),
    v.read_value(),
    v.value(),
    v.initialized_value() if 0 else "",
)
v.scatter_nd_update([[0]], [7.0])
print(v.numpy())
v.scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.constant([2])))
print(v.numpy())
v.batch_scatter_update if 0 else None
print(
    tf.Variable(1, dtype=tf.float64),
    tf.Variable("s"),
    tf.Variable(True),
    tf.Variable([[1, 2]], shape=tf.TensorShape(None)),
)
w = tf.Variable(tf.zeros([1]), shape=[None])
w.assign([1.0, 2.0])
print(w, w.shape)

v = tf.Variable(5)
print(
    [i for i in range(v)] if 0 else v.numpy(),
    int(v),
    float(tf.Variable(2.5)),
    bool(tf.Variable(True)),
    np.array(v),
    v == 5,
    {v.ref(): 1}[v.ref()],
    v.ref().deref(),
)
for x in tf.Variable([1, 2]):
    print(x)
import copy

c = copy.deepcopy(v)
c.assign(6)
print(v.numpy(), c.numpy())

print(
    tf.constant(1e10),
    tf.constant([1e-10, 1.0]),
    tf.constant([1.123456789]),
    tf.constant(np.pi, tf.float64),
    tf.range(100),
    tf.reshape(tf.range(2000), [20, 100]),
    tf.zeros([0, 3]),
    tf.constant([[1.5, 2], [np.inf, np.nan]]),
    tf.constant(-0.0),
    tf.constant([b"\xff", "é"]),
)
print(
    repr(tf.range(3)),
    repr(tf.constant("a")),
    [tf.constant(1)],
    (tf.ones([2]),),
    {"a": tf.constant(True)},
    tf.float32,
    [tf.int32],
    tf.TensorShape([1]),
    [tf.TensorShape([None])],
)

with tf.name_scope("a") as s:
    print(s, tf.Variable(1, name="z").name)


@tf.function
def f(x):
    with tf.name_scope("outer"):
        y = tf.identity(x, name="y")
        with tf.name_scope("inner"):
            z = y + 1
    print(y.name, z.name, y.op.type, z.op.inputs[0].name, z.graph is y.graph, y, x.op.name)
    return z


f(tf.constant(1))

tf.config.experimental.list_physical_devices()
tf.config.experimental.enable_tensor_float_32_execution(True)
tf.get_logger().setLevel("ERROR")
tf.autograph.set_verbosity(0)
tf.config.optimizer.set_jit(False)
tf.keras.backend.set_floatx("float32")
print(tf.keras.backend.epsilon(), tf.keras.backend.floatx(), tf.keras.backend.image_data_format())
