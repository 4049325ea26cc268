"""What TensorFlow says when a function can't be traced, or fails when it runs."""
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

    @tf.function
    def f(x, y):
        return tf.matmul(x, y)

    f(tf.ones([2, 3]), tf.ones([2, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x, i):
        return tf.gather(x, i)

    f(tf.ones([2]), tf.constant(5))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return x + tf.ones([3])

    f(tf.ones([2]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        tf.debugging.assert_greater(x, 0, message="must be positive")
        return tf.sqrt(x)

    f(tf.constant(-1.0))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        tf.Assert(x > 0, [x, "data"])
        return tf.sqrt(x)

    f(tf.constant(-1.0))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    def helper(x):
        return tf.linalg.cholesky(x)

    @tf.function
    def f(x):
        y = helper(x)
        return y * 2

    f(-tf.eye(2))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def inner(x):
        return tf.debugging.check_numerics(x, "bad value")

    @tf.function
    def f(x):
        return inner(x) * 2

    f(tf.constant([1.0, np.nan]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        raise KeyError("k")

    f(tf.constant(1.0))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    class MyErr(Exception):
        pass

    @tf.function
    def f(x):
        raise MyErr("mine")

    f(tf.constant(1.0))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    class MyErr2(Exception):
        def __init__(self, a, b):
            super().__init__(a, b)

    @tf.function
    def f(x):
        raise MyErr2("mine", 2)

    f(tf.constant(1.0))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return [1, 2][5]

    f(tf.constant(1.0))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return 1 / 0

    f(tf.constant(1.0))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return x.numpy()

    f(tf.constant(1.0))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return int(x)

    print(f(tf.constant(1.0)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return np.array(x)

    print(f(tf.constant([1.0])))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return float(x.shape[0])

    print(f(tf.constant([1.0])))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return undefined_name(x)

    print(f(tf.constant([1.0])))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return x.foo()

    print(f(tf.constant([1.0])))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return "a string", object

    print(f(tf.constant(1.0)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return x, x.shape, x.dtype

    print(f(tf.constant(1.0)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        for i in range(3):
            if x > i:
                break
        return i

    print(f(tf.constant(1)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x, n):
        while n > 0:
            x = x / 0
            n = n // (n - 1)
        return x

    f(tf.constant(1.0), tf.constant(1))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        if x > 0:
            y = tf.reshape(x, [tf.cast(x, tf.int32)])
        else:
            y = tf.reshape(x, [1])
        return y

    f(tf.constant(5.0))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.strings.to_number(x)

    f(tf.constant("abc"))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        y = tf.constant([1, 2]) + x
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=x, logits=[[1.0, 2.0]])

    f(tf.constant([5]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return x[tf.constant(7)]

    f(tf.constant([5]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return x[7]

    f(tf.constant([5]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.concat([x, tf.ones([2, 3])], 0)

    f(tf.ones([2, 2]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.reshape(x, [5])

    f(tf.ones([2, 2]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.stack([x, tf.ones([3])])

    f(tf.ones([2]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.split(x, 3)

    f(tf.ones([2]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.squeeze(x, 0), tf.transpose(x, [0])

    f(tf.ones([2, 1]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.nn.conv2d(x, tf.ones([2, 2, 2, 1]), 1, "SAME")

    f(tf.ones([1, 4, 4, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.nn.conv2d(x, tf.ones([2, 2, 2, 1]), 1, "SAME")

    f(tf.ones([4, 4, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.nn.max_pool2d(x, 3, 1, "VALID")

    f(tf.ones([1, 2, 2, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.nn.bias_add(x, tf.ones([2]))

    f(tf.ones([1, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.einsum("ij,jk->ik", x, x)

    f(tf.ones([1, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.add(x, tf.constant(1))

    f(tf.ones([1, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return x + tf.constant(1)

    f(tf.ones([1, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.where(x > 0, x, tf.ones([2]))

    f(tf.ones([1, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.reduce_sum(x, 5)

    f(tf.ones([1, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.argmax(x, 5)

    f(tf.ones([1, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.cast(x, tf.string)

    f(tf.ones([1, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.constant("a", tf.int32)

    f(tf.ones([1, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.constant([1, 2, 3], shape=[2, 2])

    f(tf.ones([1, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.broadcast_to(x, [2, 2]), tf.gather(x, 0, axis=4)

    f(tf.ones([1, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        tf.ensure_shape(x, [2, 2])

    f(tf.ones([1, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def f(x):
        v.assign(x)

    f(tf.ones([1, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.nn.softmax_cross_entropy_with_logits(x, tf.ones([2, 4]))

    f(tf.ones([2, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        tf.print("before")
        with tf.control_dependencies([tf.debugging.assert_equal(x, 1)]):
            return x * 2

    f(tf.constant(2))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.expand_dims(x, 4), tf.one_hot(x, 3)

    f(tf.constant(2))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.one_hot(x, 3)

    f(tf.constant(2.0))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.slice(x, [0], [5])

    f(tf.constant([2.0]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.matmul(x, x)

    f(tf.constant([2.0]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.unstack(x)

    print(f(tf.constant([2.0, 3.0])))
    f.get_concrete_function(tf.TensorSpec([None]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        if x > 0:
            y = 1
        return y

    f(tf.constant(1))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        if x > 0:
            y = tf.constant(1)
        else:
            y = tf.constant(1.0)
        return y

    f(tf.constant(1))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        if x > 0:
            return 1

    f(tf.constant(1))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        while x < 10:
            x = tf.cast(x, tf.float32)
        return x

    print(f(tf.constant(1)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(n):
        x = tf.zeros([1])
        for i in tf.range(n):
            x = tf.concat([x, [1.0]], 0)
        return x

    print(f(tf.constant(3)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(n):
        l = []
        for i in tf.range(n):
            l.append(i)
        return l

    print(f(tf.constant(3)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(n):
        for i in tf.range(n):
            if i > 2:
                return i
        return -1

    print(f(tf.constant(5)), f(tf.constant(1)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        assert x > 10, "too small"
        return x

    print(f(tf.constant(8)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return x if x > 0 else "no"

    print(f(tf.constant(-8)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        while True:
            x += 1
            if x > 5:
                break
        return x

    print(f(tf.constant(2)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        while True:
            x += 1
            if x > 5:
                return x

    print(f(tf.constant(2)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.autograph.experimental.do_not_convert
    def g(x):
        if x > 0:
            return x
        return -x

    @tf.function
    def f(x):
        return g(x)

    print(f(tf.constant([2])))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        if x > 0:
            raise ValueError("positive")
        return x

    print(f(tf.constant(-2)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        if x:
            return 1
        else:
            return 2

    print(f(tf.constant(3)), f(tf.constant(0.0)), f(tf.constant(True)), f(tf.constant("")))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        if x:
            return 1
        else:
            return 2

    print(f(tf.constant([True, False])))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    class Box:
        pass

    @tf.function
    def f(x):
        b = Box()
        b.v = x
        if x > 0:
            b.v = x * 2
            b.w = 3
        return b.v

    print(f(tf.constant(3)))
except Exception as error:
    print(type(error).__name__, told(error))
