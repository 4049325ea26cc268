"""Functions that are inlined where others have nodes of their names. `#: Op …` as in program.py."""

import tensorflow as tf

x = tf.ones((3, 3))


@tf.function
def inner(v):
    return tf.math.sinh(v) * 2.0  #: Sinh Mul


@tf.function
def outer(v):
    w = tf.math.erf(inner(v)) * 3.0  #: Erf Mul
    return tf.math.cosh(inner(w))  #: Cosh


outer(x)
outer(x)
