"""When a function is traced again, and what it refuses."""

import numpy as np
import tensorflow as tf


@tf.function
def f(x):
    print("tracing", x)
    return x


f(1)
f(1)
f(2)
f(tf.constant(1))
f(tf.constant([1, 2]))
f(tf.constant([1, 2, 3]))
f(1.0)
f(True)
f("a")
f(None)
f([1, 2])
f((1, 2))
f({"a": 1})
print(f.experimental_get_tracing_count())


@tf.function(reduce_retracing=True)
def g(x):
    print("tracing", x)
    return x


g(tf.ones([1]))
g(tf.ones([2]))
g(tf.ones([3]))
g(tf.ones([2, 2]))
print(g.experimental_get_tracing_count())

try:

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def h(x):
        print("tracing", x)
        return x

    h(tf.ones([1]))
    h([1.0, 2.0])
    h(tf.ones([2, 2]))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    h(tf.constant([1]))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    h()
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    h(tf.ones([1]), 2)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    h(y=1)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

c = f.get_concrete_function(tf.TensorSpec([None, 2], tf.float32))
c(tf.ones([3, 3]))


class A:
    def __init__(self):
        self.k = 1

    @tf.function
    def m(self, x):
        print("tracing")
        return x + self.k


a = A()
print(a.m(tf.constant(1)))
a.k = 5
print(a.m(tf.constant(1)))
b = A()
print(b.m(tf.constant(1)))

tf.config.run_functions_eagerly(True)
f(tf.constant(1))
f(tf.constant(1))
tf.config.run_functions_eagerly(False)
print(tf.config.functions_run_eagerly())


@tf.function
def r(x):
    if tf.executing_eagerly():
        print("eager")
    with tf.init_scope():
        print(tf.executing_eagerly())
    return tf.inside_function() if hasattr(tf, "inside_function") else x


print(r(tf.constant(1)))


@tf.function
def outs(x):
    return x, [x + 1, {"k": x * 2}], None, 3, "str"


print(outs(tf.constant(1)))

from functools import partial

q = tf.function(partial(lambda x, y: x * y, y=3))
print(q(tf.constant(2)))


@tf.function
def opt(x, training=False):
    print("tr", training)
    return x


opt(1.0, True)
opt(1.0, training=True)
opt(1.0)
opt(1.0, False)
opt(tf.constant(1.0), tf.constant(True))


@tf.function
def it(x):
    import time

    return tf.timestamp() * 0 + tf.cast(x, tf.float64)


print(it(1))


@tf.function(jit_compile=True)
def j(x):
    return x * 2


print(j(tf.constant(2.0)))


@tf.function
def np_in(x):
    print(type(x).__name__)
    return x


np_in(np.array([1.0, 2.0]))
np_in(np.float32(1))
np_in(np.array([3.0, 4.0]))
np_in(3)

o = object()


@tf.function
def ob(x, o):
    print("tr")
    return x


ob(1, o)
ob(1, o)
ob(1, object())
import collections

P = collections.namedtuple("P", "a b")


@tf.function
def nt(p):
    print("tr")
    return P(p.b, p.a)


print(nt(P(tf.constant(1), tf.constant(2))))
nt(P(1, 2))


@tf.function
def boolit(x):
    return int(x)


boolit(tf.constant(1))
