"""What errors say: with the user's stack or without, from kernels that check, of lambdas."""

import os
import re

import numpy as np
import tensorflow as tf


def shown(label, function):
    try:
        print(label, "gives", function())
    except Exception as error:
        told = str(error).replace(os.path.abspath(__file__), "<program>")
        lines = re.sub(r"(__inference_[\w<>]*)_\d+", r"\1", told).split("\n")
        lines = [line for line in lines if "/" not in line or "<program>" in line or "{{" in line]
        print(label, type(error).__module__, type(error).__name__, "\n".join(lines).strip())


def inner(i):
    return tf.gather([1, 2, 3], i)


of_a_lambda = tf.function(lambda i: tf.gather([1, 2, 3], i))
gather = tf.function(inner)
kept_apart = tf.function(inner, experimental_attributes={"_noinline": True})


@tf.function
def calls(i, function):
    return function(i) + 1


@tf.function
def total(dataset):
    found = tf.constant(0, tf.int64)
    for x in dataset:
        found += x
    return found


@tf.function
def nested(i):
    twice = lambda j: tf.reshape(j, [5])
    return twice(i)


divided = tf.data.Dataset.range(3).map(lambda x: x // (x - 1))
index = tf.constant(9)
shown("a lambda", lambda: of_a_lambda(index))
shown("through a lambda", lambda: calls(index, of_a_lambda))
shown("inlined", lambda: calls(index, gather))
shown("not inlined", lambda: calls(index, kept_apart))
shown("a map", lambda: list(divided))
shown("a batched map", lambda: list(divided.batch(2)))
shown("a loop", lambda: total(divided))
shown("a reduction", lambda: divided.reduce(np.int64(0), lambda a, b: a + b))
shown(
    "a map of a function", lambda: list(tf.data.Dataset.range(4, output_type=tf.int32).map(gather))
)
shown("a lambda's trace", lambda: tf.function(lambda x: tf.reshape(x, [5]))(index))
shown("a nested lambda's", lambda: nested(index))

# Kernels check what they are given
one, pair, square = tf.ones([3]), tf.ones([2, 2]), tf.ones([1, 4, 4, 4])
sparse = tf.nn.sparse_softmax_cross_entropy_with_logits
unknown = tf.TensorSpec(None)


def blindly(function, *values):
    return tf.function(function, input_signature=[unknown] * len(values))(*values)


raw = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits
for features, labels in (pair, [1, 0, 1]), (one, [1]), (pair, [[1, 0]]), (tf.ones([2, 0]), [1, 0]):
    shown("sparse", lambda: raw(features=features, labels=labels))
entropy = tf.nn.softmax_cross_entropy_with_logits
shown("cross entropy", lambda: entropy(tf.ones([1, 2]), tf.ones([1, 3])))
shown("groups", lambda: tf.nn.conv2d(square, tf.ones([2, 2, 2, 1]), 1, "SAME"))
shown("strides", lambda: tf.nn.conv2d(square, tf.ones([2, 2, 4, 1]), 0, "SAME"))
shown("depthwise", lambda: tf.nn.depthwise_conv2d(square, tf.ones([2, 2, 3, 1]), [1] * 4, "SAME"))
big = [1, 8, 8, 5]
shown("transposed", lambda: tf.nn.conv2d_transpose(square, tf.ones([2, 2, 3, 4]), big, 2))
shown("diagonal", lambda: blindly(lambda x: tf.linalg.diag_part(x), one))
shown("diagonal", lambda: blindly(lambda x: tf.linalg.tensor_diag_part(x), one))
shown("reverse", lambda: blindly(lambda x: tf.reverse(x, [3]), one))
shown("reverse", lambda: blindly(lambda x: tf.reverse(x, [3]), tf.constant(2.0)))
shown("reverse", lambda: tf.reverse(one, [0, 0]))
shown("categorical", lambda: tf.random.categorical([[1.0, 2.0]], -1))
shown("product", lambda: blindly(lambda x, y: tf.matmul(x, y), tf.ones([2, 3]), tf.ones([2, 3])))
shown(
    "product", lambda: blindly(lambda x, y: tf.matmul(x, y), tf.ones([2, 3, 4]), tf.ones([3, 3, 4]))
)
shown("bias", lambda: tf.nn.bias_add(one, one))
shown("bias", lambda: tf.nn.bias_add(pair, pair))
shown("one hot", lambda: tf.one_hot([1, 2], -1))
shown("one hot", lambda: tf.one_hot([1, 2], 2, axis=5))
rows = tf.data.Dataset.from_tensors([1])
shown("padding", lambda: rows.padded_batch(1, padded_shapes=[0]))
shown("model", lambda: tf.keras.Model(inputs=1, outputs=2))
shown("model", lambda: tf.keras.Model(inputs=tf.keras.Input([2]), outputs=2))


# Python inside
def promising(*values):
    def generator():
        for value in values:
            if isinstance(value, Exception):
                raise value
            yield value

    spec = tf.TensorSpec([], tf.int32)
    return tf.data.Dataset.from_generator(generator, output_signature=spec)


def first_lines(function, *lines):
    try:
        print(function())
    except Exception as error:
        told = str(error).split("\n")
        print(type(error).__name__, *(told[line] for line in lines), sep="\n")


first_lines(lambda: list(promising(1, ValueError("boom"))), 0, 1, -1)
first_lines(lambda: list(promising(1, KeyError("boom"))), 0, 1, -1)
first_lines(lambda: list(promising("abc")), 0, -1)
first_lines(lambda: list(promising([1, 2])), 0, -1)
first_lines(lambda: list(promising(1.5)), 0, -1)
first_lines(lambda: tf.py_function(lambda i: tf.gather([1], i), [5], tf.int32), 0, 1)


@tf.function(autograph=False)
def asks(x):
    return 1 if x > 0 else 0


takes = tf.function(lambda x: x, input_signature=[tf.TensorSpec([], name="x")])
shown("a condition", lambda: asks(index))
shown("a signature", lambda: takes(tf.constant([1.0])))
print(np.isnan(tf.reduce_mean([])), np.isnan(tf.reduce_mean(tf.zeros([0, 2]), 0)))
both = tf.data.Dataset.range(6).filter(lambda x: x % 2 == 0).map(lambda x: x * 2)
print([int(x) for x in both])
