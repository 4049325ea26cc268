"""A program whose lines are known: `#: Op …` names the op types that only this line asks for."""

import threading

import tensorflow as tf

x = tf.ones((3, 3))


def deep(v):
    return tf.math.asinh(v)  #: Asinh


def shallow(v):
    return deep(
        tf.math.acosh(v + 1.0),  #: Acosh
    )


shallow(x)
thread = threading.Thread(target=lambda: tf.math.atanh(x * 0.5))  #: Atanh
thread.start()
thread.join()


def body(v):
    return tf.math.expm1(v)  #: Expm1


@tf.function
def step(v):
    if tf.reduce_max(v) > 0.0:  #: Max
        w = tf.math.sinh(v)  #: Sinh
    else:
        w = tf.math.cosh(v)  #: Cosh
    for _ in tf.range(2):
        w = tf.math.log1p(w)  #: Log1p
    return tf.py_function(body, [w], tf.float32)  #: EagerPyFunc


step(x)
v = tf.Variable(x)
with tf.GradientTape() as tape:
    loss = tf.math.erf(v)  #: Erf
tape.gradient(loss, v)  #: Exp


class Layer(tf.keras.layers.Layer):
    def call(self, inputs):
        return tf.math.softplus(inputs)  #: Softplus


model = tf.keras.Sequential([tf.keras.layers.Dense(2), Layer()])
model.compile("sgd", "mse")
model.fit(x, x[:, :2], verbose=0)  #: IteratorGetNext
print([tf.math.sign(v) for v in tf.unstack(x)][0].shape)  #: Sign Unpack
import functools


def wraps(f):
    @functools.wraps(f)
    def wrapper(v):
        return f(tf.math.rint(v))  #: Rint

    return wrapper


@tf.function
@wraps
def compiled(v):
    return tf.cond(
        tf.reduce_all(v > 0.0),  #: All
        lambda: tf.math.lgamma(v),  #: Lgamma
        lambda: tf.math.digamma(v),  #: Digamma
    )


compiled(x)
tf.function(lambda v: tf.math.softsign(v))(x)  #: Softsign
