"""Functions that call functions, and a function that py_function code calls eagerly."""
import truth
import tensorflow as tf

w = tf.Variable(tf.random.stateless_normal((64, 64), seed=(1, 2)))


@tf.function
def inner(x):
    truth.traced("inner")
    return tf.nn.relu(tf.matmul(x, w))


@tf.function
def middle(x):
    truth.traced("middle")
    return inner(inner(x)) + 1.0


def from_python(x):
    with truth.phase("py_function body"):
        with truth.call("inner", inside="py_function"):
            return inner(x)


@tf.function
def outer(x):
    truth.traced("outer")
    x = middle(x)
    return tf.ensure_shape(tf.py_function(from_python, [x], tf.float32), (32, 64)) * 0.5


x = tf.random.stateless_normal((32, 64), seed=(3, 4))
for i in range(6):
    with truth.call("outer"):
        outer(x)
with truth.call("inner", inside="nothing"):
    inner(x)
truth.known("outer was called 6 times, inner eagerly 6 times inside those calls and once alone; each traced once", outer_calls=6, inner_eager_calls=7)
truth.known("inside outer a call of inner by py_function lies within the call of outer: its time is part of outer's")
