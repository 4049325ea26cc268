"""What TensorFlow says when an op is called with what it can't take."""
# ruff: noqa - as users write it, mistakes and all

import collections
import functools
import gc
import os
import re
import sys
import weakref

import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def told(error):
    """What the error says, without what differs between machines and runs."""
    text = str(error).replace(HERE, "")
    text = re.sub(
        r"(__(?:inference|forward)_\w+?|cond_(?:true|false)|while_(?:body|cond))_\d+", r"\1", text
    )
    return re.sub(r"id=\d+|0x[0-9a-f]+", "", text)


try:
    tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.matmul(tf.ones([3]), tf.ones([2, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.matmul(tf.ones([2, 3]), tf.ones([3, 2], tf.int32))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.ones([2, 3]) + tf.ones([4])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant(1) + tf.constant(1.5)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant(1) + 1.5
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.add(tf.constant(1), "a")
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant([1, 2], shape=[3])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant("a", dtype=tf.int32)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant(1.5, tf.int32)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant(300, tf.int8)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.reshape(tf.range(6), [4, -1])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.reshape(tf.range(6), [-1, -1])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.concat([tf.ones([1, 2]), tf.ones([1, 2, 3])], 0)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.concat([tf.ones([1, 2])], 3)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.stack([tf.ones([1]), tf.ones([2])])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.split(tf.ones([5]), 2)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.split(tf.ones([5]), [2, 2])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.squeeze(tf.ones([2, 1]), 0)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.expand_dims(tf.ones([2]), 3)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.transpose(tf.ones([2, 3]), [0, 0])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.transpose(tf.ones([2, 3]), [0])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.gather([1, 2, 3], 5)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.gather([1, 2, 3], 0, axis=2)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.gather_nd([[1, 2], [3, 4]], [[2, 0]])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.slice(tf.range(3), [2], [5])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.range(3)[1, 2]
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.range(3)["a"]
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.range(3)[1.0]
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.ones([2, 2])[3]
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.ones([2])[::0]
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.tile(tf.ones([2]), [1, 2])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.pad(tf.ones([2]), [[1, 1], [1, 1]])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.one_hot([1], -1)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.fill([2, -1], 0)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.zeros([-1])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.range(0, 5, 0)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.range(5, 0, 1)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.reduce_sum(tf.ones([2]), axis=1)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.argmax(tf.ones([2]), axis=3)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nn.softmax_cross_entropy_with_logits(tf.ones([2, 3]), tf.ones([2, 4]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[5], logits=[[1.0, 2.0]]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nn.conv2d(tf.ones([1, 4, 4, 3]), tf.ones([2, 2, 2, 1]), 1, "SAME")
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nn.bias_add(tf.ones([2, 3]), tf.ones([2]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.linalg.inv(tf.zeros([2, 2]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.linalg.inv(tf.zeros([2, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.linalg.cholesky(-tf.eye(2))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.linalg.solve(tf.zeros([2, 2]), tf.ones([2, 1]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.einsum("ij,jk->ik", tf.ones([2, 3]), tf.ones([2, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.einsum("ij,jk", tf.ones([2, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant(1) // tf.constant(0)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(tf.constant(1) / tf.constant(0))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant(1) % tf.constant(0)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.math.pow(tf.constant(2), tf.constant(-1))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.strings.to_number("abc")
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.strings.to_number(["1", "x"], tf.int32)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.strings.join([["a", "b"], ["c", "d", "e"]])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.where([True, False], [1, 2, 3], [4, 5, 6])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.boolean_mask([1, 2, 3], [True, False])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.tensor_scatter_nd_update([1, 2], [[3]], [1])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.scatter_nd([[5]], [1], [3])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.math.segment_sum([1, 2, 3], [1, 0, 2])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.math.unsorted_segment_sum([1, 2], [0, 5], 3)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.math.top_k([1, 2], 3)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nn.embedding_lookup(tf.ones([2, 2]), [3])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.broadcast_to(tf.ones([3]), [2, 2])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.ensure_shape(tf.ones([2]), [3])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.cast("1", tf.float32)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.cast([1, 2], "foo")
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.bitcast(tf.constant(1, tf.int32), tf.int64)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    int(tf.constant([1, 2]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    bool(tf.constant([]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    float(tf.constant("a"))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    if tf.constant("a"):
        print("ok")
except Exception as error:
    print(type(error).__name__, told(error))

try:
    len(tf.constant(1))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    for i in tf.constant(1):
        pass
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant([1, 2]).foo
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant([1, 2]).shape[3]
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant([1, 2]).reshape([2, 1])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    hash(tf.constant(1))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    {tf.constant(1): 2}
except Exception as error:
    print(type(error).__name__, told(error))

try:
    x = tf.constant([1])
    x[0] = 2
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant([1, "a"])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant([[1], [1, 2]])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant(None)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant(object())
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.convert_to_tensor(tf.constant(1), tf.float32)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.random.uniform([2], 5, 3, dtype=tf.int32)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.random.uniform([2], dtype=tf.int32)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.random.categorical(tf.ones([3]), 2)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.Variable(1.0).assign("a")
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.Variable(1.0).assign([1.0, 2.0])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.Variable([1.0], shape=[None]).assign([[1.0]])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.Variable()
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.raw_ops.Add(x=1, y=2.0)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.raw_ops.Add(1, 2)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.clip_by_value(tf.ones([2]), [1.0, 2.0, 3.0], 5.0)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.linspace(0.0, 1.0, 0)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.unstack(tf.ones([2]), 3)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.sequence_mask([1], -1)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.math.confusion_matrix([0, 3], [1, 1], 2)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    with tf.device("/GPU:0"):
        print(tf.constant(1) + 1)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    with tf.device("foo"):
        tf.constant(1)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.sqrt(4)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.exp(tf.constant([1, 2]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nn.softmax([1, 2])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.matmul([["a"]], [["b"]])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant("a") * 2
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.constant("a") - tf.constant("b")
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nn.sigmoid(1)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.linalg.inv([[1]])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.random.normal([2], dtype=tf.int32)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.strings.upper(1)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.gather([1, 2], [0.5])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.math.log(tf.constant(2))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.logical_and(1, 2)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nn.softmax_cross_entropy_with_logits([1], [1])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nn.sparse_softmax_cross_entropy_with_logits([1.5], [[1.0, 2.0]])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.range(3) < "a"
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.pow(tf.constant(True), True)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.one_hot([1], 2.5)
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.sqrt(x)

    f(4)
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.nn.softmax(x)

    f(tf.constant([1, 2]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.constant("a") + x

    f(tf.constant([1, 2]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.logical_and(x, True)

    f(tf.constant([1, 2]))
except Exception as error:
    print(type(error).__name__, told(error))
