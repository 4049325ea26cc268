"""Nodes that oneDNN would run, but for a setting. The first argument is the reason."""

from __future__ import annotations

import sys

import tensorflow as tf

REASON = sys.argv[1]


@tf.function
def on_another_device(a, b):
    with tf.device("/device:XLA_CPU:0"), tf.name_scope(REASON):
        c = tf.matmul(a, b)
    with tf.device("/CPU:0"):
        return c + tf.matmul(a, b)


@tf.function
def products(a, b):
    with tf.name_scope(REASON):
        c = tf.matmul(a, b)
        d = tf.nn.softmax(tf.matmul(tf.nn.relu(c), b))
        e = tf.matmul(d, c)
    return e + 1


MATRIX = tf.constant([[1.0, 2.0], [3.0, 4.0]])
for _ in range(3):
    (on_another_device if REASON == "device" else products)(MATRIX, MATRIX)
