"""Solves with a matrix that is factorized in each `turn` of a loop, `before` it, or in each `call`.

`noise` draws numbers in each turn instead.
"""

import sys

import tensorflow as tf

mode = sys.argv[1]
fixed = 200 * tf.eye(200) + tf.random.uniform((200, 200))


@tf.function
def solve(matrix, right):
    factor = tf.linalg.cholesky(fixed if mode == "call" else matrix)
    for _ in tf.range(1 if mode == "call" else 24):
        if mode == "turn":
            right = tf.linalg.cholesky_solve(tf.linalg.cholesky(matrix), right)
        elif mode == "noise":
            right = tf.linalg.cholesky_solve(factor, right) + tf.random.normal((200, 500))[:, :2]
        else:
            right = tf.linalg.cholesky_solve(factor, right)
    return right


for _ in range(10):
    solve(fixed, tf.ones((200, 2)))
