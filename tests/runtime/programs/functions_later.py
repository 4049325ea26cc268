"""Functions of `keras.ops`."""

import tensorflow as tf

ops = tf.keras.ops
x = tf.constant([[3.0, 1.0], [2.0, 5.0]])
for name, *more in (
    ("swapaxes", 0, 1), ("moveaxis", 0, 1), ("roll", 1), ("sort",), ("argsort",), ("var",),
    ("std",), ("norm",), ("outer", x), ("tril",), ("triu",), ("sin",), ("log1p",), ("isnan",),
    ("full_like", 2.0), ("elu", 0.5), ("leaky_relu",), ("log_softmax",), ("unstack",),
    ("pad", [[1, 0], [0, 1]]), ("normalize",),
):  # fmt: skip
    found = tf.nest.flatten(getattr(ops, name)(x, *more))
    print(name, [each.numpy().tolist() for each in found])
print(ops.arange(3), ops.arange(0, 1, 0.5), ops.full((2,), 3.0), ops.eye(2))
print(ops.fori_loop(0, 3, lambda i, value: value + i, 1))
print(ops.while_loop(lambda i: i < 3, lambda i: i + 1, 0))
print(tf.math.count_nonzero(x > 2.0))
