"""Decoding by tf.while_loop: keys grow by one row in each iteration, or (`padded`) have one size and a mask.

What is true: 12 calls of one trace, with 6 to 12 iterations each; nothing but the loop's own state changes its shape.
"""

import sys

import tensorflow as tf

DEEP, LONGEST, padded = 32, 12, "padded" in sys.argv
w = tf.Variable(tf.random.stateless_normal((DEEP, DEEP), (1, 2)) * 0.1)


@tf.function(input_signature=[tf.TensorSpec([8, DEEP]), tf.TensorSpec([], tf.int32)])
def decode(x, steps):
    def body(i, x, keys):
        if padded:
            keys = tf.tensor_scatter_nd_update(keys, [[i]], [x @ w])
            mask = tf.where(tf.range(LONGEST) <= i, 0.0, -1e9)
        else:
            keys, mask = tf.concat([keys, [x @ w]], 0), 0.0
        scores = tf.nn.softmax(tf.einsum("bd,tbd->bt", x, keys) + mask)
        return i + 1, tf.einsum("bt,tbd->bd", scores, keys), keys

    keys = tf.zeros((LONGEST if padded else 0, 8, DEEP))
    shapes = (tf.TensorShape([]), tf.TensorShape([8, DEEP]), tf.TensorShape([None, 8, DEEP]))
    return tf.while_loop(lambda i, *_: i < steps, body, (0, x, keys), shape_invariants=shapes)[1]


x = tf.ones((8, DEEP))
for call in range(12):
    decode(x, tf.constant(6 + call % 7)).numpy()
