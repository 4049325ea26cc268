"""Mathematical functions, one after the other."""

import numpy as np
import tensorflow as tf

x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
print(
    tf.einsum("ij->ji", x),
    tf.einsum("ij,kj->ik", x, x),
    tf.einsum("...i,i->...", x, tf.ones([3])),
    tf.einsum("bij,bjk->bik", tf.ones([2, 2, 3]), tf.ones([2, 3, 1])).shape,
    tf.einsum("ii->i", tf.eye(2)),
    tf.einsum("ij->", x),
)

for n in [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "digamma",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "lgamma",
    "log",
    "log1p",
    "log_sigmoid",
    "negative",
    "reciprocal",
    "rint",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softplus",
    "softsign",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "is_nan",
    "is_inf",
    "is_finite",
    "reciprocal_no_nan",
    "sigmoid",
    "l2_normalize",
    "zero_fraction",
]:
    try:
        print(
            n,
            getattr(tf.math, n)(
                tf.constant([0.3, 0.8]) if n != "acosh" else tf.constant([1.5])
            ).numpy(),
        )
    except Exception as e:
        print(n, "!!", type(e).__name__, str(e)[:60])
for n in [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floordiv",
    "mod",
    "pow",
    "maximum",
    "minimum",
    "squared_difference",
    "atan2",
    "divide_no_nan",
    "multiply_no_nan",
    "xlogy",
    "xdivy",
    "floormod",
    "truediv",
    "pow",
]:
    try:
        print(n, getattr(tf.math, n)(tf.constant([1.3, 0.8]), tf.constant([2.0, 3.0])).numpy())
    except Exception as e:
        print(n, "!!", type(e).__name__, str(e)[:60])

tf.random.set_seed(1)
print(
    tf.random.uniform([2], seed=1),
    tf.random.uniform([2], seed=1),
    tf.random.stateless_uniform([2], [1, 2]),
    tf.random.stateless_normal([2], [1, 2]),
    tf.random.stateless_truncated_normal([2], [1, 2]),
    tf.random.stateless_categorical([[1.0, 2.0]], 3, [1, 2]),
    tf.random.stateless_uniform([2], [1, 2], minval=0, maxval=10, dtype=tf.int32),
    tf.random.experimental.stateless_fold_in([1, 2], 3),
    tf.random.experimental.stateless_split([1, 2], 2),
)


@tf.function
def rnd():
    return tf.random.uniform([2])


tf.random.set_seed(3)
print(rnd(), rnd())
tf.random.set_seed(3)
print(rnd())
