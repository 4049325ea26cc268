# ruff: noqa
"""Variables: in functions, created by functions, their order, and reading what was not given."""

import re

import tensorflow as tf


def tried(label, attempt):
    try:
        print(label, attempt())
    except Exception as error:
        lines = [line.strip() for line in str(error).split("\n") if line.strip()]
        lines = [line for line in lines if "File" not in line]
        print(label, "raises", type(error).__name__, "|", lines[-1][:100])


v = tf.Variable([1.0, 2.0], name="weights")
print(v, v.name, v.shape, v.dtype, v.trainable)
v.assign_add([1.0, 1.0])
v[0].assign(9.0)
print(v.numpy(), v.read_value().numpy(), (v + 1).numpy(), v.assign_sub([1.0, 0.0]).numpy())
tried("wrong shape", lambda: v.assign([1.0]))
tried("wrong dtype", lambda: v.assign([1, 2]))


@tf.function
def ordered(n):
    a = v.read_value()
    v.assign(a * 2.0)
    b = v.read_value()
    v.assign_add([1.0, 1.0])
    return a, b, v


print([t.numpy() for t in ordered(1)])


class Lazy:
    def __init__(self):
        self.v = None

    @tf.function
    def __call__(self, x):
        print("tracing Lazy")
        if self.v is None:
            self.v = tf.Variable(tf.ones([2]) * 3.0, name="made")
        return self.v * x


lazy = Lazy()
print(lazy(tf.constant(2.0)).numpy())
print(lazy(tf.constant(3.0)).numpy())
print(lazy.v.name, lazy.v.numpy())


@tf.function
def always(x):
    return tf.Variable(x) + 1


tried("always", lambda: always(1.0))

later = []


@tf.function
def second_call(x, create):
    if create:
        later.append(tf.Variable(1.0))
    return x


second_call(1.0, False)
tried("second", lambda: second_call(1.0, True))

counter = tf.Variable(0)


@tf.function
def unused_reads_and_effects(x):
    counter.assign_add(1)  # an effect: it runs, though nothing reads it
    tf.gather(x, [7])  # no effect: it does not
    return x


for _ in range(3):
    unused_reads_and_effects(tf.constant([1.0]))
print(counter.numpy())


@tf.function
def by_argument(variable, x):
    print("tracing by_argument")
    return variable.assign_add(x)


a, b = tf.Variable(1.0), tf.Variable(2.0)
print(by_argument(a, 1.0).numpy(), by_argument(b, 1.0).numpy(), by_argument(a, 1.0).numpy())


@tf.function
def two(p, q):
    print("tracing two")
    return p + q


print(two(a, b).numpy(), two(a, a).numpy(), two(b, a).numpy())

frozen = tf.Variable(3.0, trainable=False)
with tf.GradientTape() as tape:
    y = a * a + frozen * a
print([v.name for v in tape.watched_variables()], tape.gradient(y, [a, frozen]))


class Layered(tf.Module):
    def __init__(self):
        super().__init__(name="layered")
        with self.name_scope:
            self.w = tf.Variable(1.0, name="w")
        self.parts = [tf.Variable(2.0), {"deep": tf.Variable(3.0, trainable=False)}]

    @tf.Module.with_name_scope
    def __call__(self, x):
        return tf.add(self.w, x, name="sum")


layered = Layered()
print(
    layered.w.name, len(layered.variables), len(layered.trainable_variables), layered(1.0).numpy()
)
