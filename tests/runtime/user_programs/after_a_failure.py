"""What needs nothing of a node that failed runs all the same."""

import tensorflow as tf

v = tf.Variable(1.0)
w = tf.Variable([1.0, 2.0])


@tf.function
def f(x):
    tf.debugging.assert_positive(x, message="must be positive")
    v.assign_add(1.0)
    y = tf.reduce_sum(tf.sqrt(x) * w)
    w.assign(w * 2.0)
    return y + v


print(f(tf.constant([1.0, 4.0])).numpy(), v.numpy(), w.numpy())
try:
    f(tf.constant([-1.0, 4.0]))
except tf.errors.InvalidArgumentError as e:
    print(type(e).__name__, "must be positive" in str(e))
print(v.numpy(), w.numpy())


@tf.function
def g(x):
    y = tf.linalg.inv(x)
    v.assign(10.0)
    with tf.control_dependencies([y]):
        w.assign([0.0, 0.0])
    return tf.reduce_sum(y)


try:
    g(tf.zeros([2, 2]))
except tf.errors.InvalidArgumentError as e:
    print("inv", str(e).splitlines()[0][:60])
print(v.numpy(), w.numpy())


@tf.function
def loop(n):
    total = 0.0
    for i in tf.range(n):
        tf.debugging.assert_less(i, 3)
        v.assign_add(1.0)
        total += 1.0
    return total


try:
    loop(tf.constant(6))
except tf.errors.InvalidArgumentError:
    print("loop")
print(v.numpy())
