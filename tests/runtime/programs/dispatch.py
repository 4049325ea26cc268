# ruff: noqa
"""Eager execution: dtypes and their rules, broadcasting, conversion, and how ops refuse."""

import re

import numpy as np
import tensorflow as tf


def tried(label, attempt):
    try:
        print(label, attempt())
    except Exception as error:
        text = re.sub(r"\{\{function_node [^}]*\}\} ?", "", str(error)).split("\n")[0]
        print(label, "raises", type(error).__name__, "|", text)


print(tf.constant(1), tf.constant(1.0), tf.constant("a"), tf.constant(True), tf.constant(1j).dtype)
print(tf.constant([1, 2.5]).dtype, tf.constant(np.arange(3)).dtype, tf.constant([[]]).shape)
print(repr(tf.constant([[1, 2], [3, 4]])))
print(tf.constant(3.7, tf.float64), tf.constant(7, tf.uint8), tf.constant(2.0, tf.bfloat16))
x = tf.constant([1.0, 2.0])
print(
    x + 1,
    1 + x,
    x / 2,
    2**x,
    -x,
    abs(-x),
    x // 0.3,
    x % 0.7,
    x @ tf.constant([[1.0], [2.0]])[:1, 0] if False else x,
)
print(tf.constant([[1], [2]]) + tf.constant([10, 20, 30]))
print(tf.constant(7) // 2, tf.constant(-7) // 2, tf.constant(-7) % 3, tf.constant(7) / 2)
print(x > 1.5, x == x, (x != 2.0).numpy(), bool(tf.constant(0)), float(x[0]), int(tf.constant(3)))
print(x.shape, x.shape.rank, x.ndim, len(x), [v.numpy().tolist() for v in x], x.dtype, x.device)
print(np.add(x, 1), np.asarray(x), x.numpy().tolist(), x.get_shape().as_list())

tried("dtypes", lambda: tf.constant(1.0) + tf.constant(1))
tried("dtype hint", lambda: tf.constant(1) + 1.5)
tried("shapes", lambda: tf.constant([1.0, 2.0]) + tf.constant([1.0, 2.0, 3.0]))
tried("matmul", lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])))
tried("reshape", lambda: tf.reshape(tf.ones([2, 3]), [4]))
tried("gather", lambda: tf.gather(tf.constant([0.0]), [1]))
tried("slice", lambda: tf.slice(tf.constant([0.0]), [0], [3]))
tried("concat", lambda: tf.concat([tf.ones([1, 2]), tf.ones([1, 3])], 0))
tried("stack", lambda: tf.stack([tf.ones([1]), tf.ones([2])]))
tried("integer division", lambda: tf.constant(1) // tf.constant(0))
tried("ragged", lambda: tf.constant([[1], [2, 3]]))
tried("none", lambda: tf.constant(None))
tried("assert", lambda: tf.debugging.assert_equal(tf.constant(1), tf.constant(2)))
tried("numerics", lambda: tf.debugging.check_numerics(tf.constant(float("nan")), "saw"))
tried("bool", lambda: bool(tf.constant([1, 2])))
tried("index", lambda: tf.constant([1, 2])[5])
tried("hash", lambda: hash(tf.constant(1)))
tried("cast", lambda: tf.cast([1.9, -1.9], tf.int32))
print(tf.executing_eagerly(), tf.inside_function() if hasattr(tf, "inside_function") else False)
print(
    tf.errors.InvalidArgumentError(None, None, "why").message,
    tf.errors.OutOfRangeError(None, None, "").error_code,
)
