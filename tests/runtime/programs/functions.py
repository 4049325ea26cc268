# ruff: noqa
"""Functions: what a trace depends on, what it captures, and how its traces are chosen."""

import collections
import re

import numpy as np
import tensorflow as tf


def tried(label, attempt):
    try:
        print(label, attempt())
    except Exception as error:
        text = re.sub(r"\{\{[a-z_]+ [^}]*\}\}", "{{node}}", str(error))
        lines = [line.strip() for line in text.split("\n") if "File" not in line]
        lines = [re.sub(r"_\d+", "_N", re.sub(r"0x\w+", "0x", line)) for line in lines if line]
        shown = [line for line in lines if "is not in" in line] or lines[:2]
        print(label, "raises", type(error).__name__, "|", " / ".join(shown))


@tf.function
def kinds(x, y=None, *rest, flag=False, **named):
    print("tracing with", x, y, rest, flag, sorted(named))
    return x


kinds(tf.constant(1))
kinds(tf.constant(2))
kinds(tf.constant(1.0))
kinds(tf.constant([1.0]))
kinds(np.array([1.0], np.float32))
kinds(1)
kinds(1)
kinds(2)
kinds(True)
kinds(1.0)
kinds("a")
kinds(None)
kinds([tf.constant(1), 2])
kinds((tf.constant(1), 2))
kinds([tf.constant(1), 2])
kinds({"b": tf.constant(1), "a": 3})
kinds({"a": 3, "b": tf.constant(1)})
kinds(tf.constant(1), tf.constant(1), flag=True)
kinds(tf.constant(1), y=tf.constant(2), flag=True)
kinds(tf.constant(1), 1, 2, 3)
kinds(tf.constant(1), other=4)
print(kinds.experimental_get_tracing_count())

Point = collections.namedtuple("Point", "x y")


@tf.function
def of_points(p):
    print("tracing of_points")
    return Point(p.x + p.y, p.x - p.y)


print(of_points(Point(tf.constant(1), tf.constant(2))))
print(of_points(Point(tf.constant(3), tf.constant(4))).x.numpy())


class Thing:
    def __init__(self, factor):
        self.factor = factor


@tf.function
def of_thing(thing, x):
    print("tracing of_thing")
    return thing.factor * x


one, two = Thing(2.0), Thing(3.0)
print(of_thing(one, 1.0).numpy(), of_thing(one, 1.0).numpy(), of_thing(two, 1.0).numpy())
one.factor = 100.0
print(of_thing(one, 1.0).numpy(), "still 2: it was traced with that")


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.int32)])
def signed(x, n):
    print("tracing signed", x.shape, n.dtype)
    return tf.reduce_sum(x) * tf.cast(n, tf.float32)


print(signed([1.0, 2.0], 3).numpy(), signed(tf.ones([5]), tf.constant(2)).numpy())
tried("rank", lambda: signed(tf.ones([2, 2]), 3))
tried("dtype", lambda: signed([1.0], tf.constant(1.5)))
tried("count", lambda: signed([1.0]))


@tf.function(reduce_retracing=True)
def relaxed(x):
    print("tracing relaxed", x.shape)
    return tf.reduce_sum(x)


for size in (1, 2, 3, 4):
    print(relaxed(tf.ones([size])).numpy())


@tf.function
def supertype(x):
    print("tracing supertype", x.shape)
    return x


supertype.get_concrete_function(tf.TensorSpec([None, None], tf.int32))
supertype(tf.constant([[1]]))
supertype(tf.constant([1]))
supertype(tf.constant([[1, 2], [3, 4]]))

concrete = supertype.get_concrete_function(tf.constant([1]))
print(concrete(tf.constant([7])).numpy(), concrete(x=tf.constant([8])).numpy())
tried("concrete", lambda: concrete(tf.constant([1.5])))
tried("concrete count", lambda: concrete(tf.constant([1]), tf.constant([1])))
print(concrete.structured_input_signature, concrete.structured_outputs)
print(concrete.inputs, concrete.outputs)

small, large = tf.constant([1.0, 2.0]), tf.ones([200])


@tf.function
def capturing(x):
    return x + tf.reduce_sum(small) + tf.reduce_sum(large)


print(capturing(tf.constant(1.0)).numpy())
trace = capturing.get_concrete_function(tf.constant(1.0))
print(len(trace.captured_inputs), [t.shape for t in trace.captured_inputs])


@tf.function
def inner(x):
    print("tracing inner")
    return x * 2.0, x + 1.0


@tf.function
def calls_twice(x):
    a, b = inner(x)
    c, _ = inner(b)
    return {"sum": a + c, "list": [a, (b,)], "none": None, "number": 3}


print(calls_twice(tf.constant(1.0)))


@tf.function
def in_init_scope(x):
    with tf.init_scope():
        print("eager inside:", tf.executing_eagerly())
        y = tf.constant(5.0)
    print("graph again:", tf.executing_eagerly())
    return x + y


print(in_init_scope(tf.constant(1.0)).numpy())


@tf.function
def numbered(x):
    print("tracing numbered")
    tf.print("running", x, output_stream="file:///dev/null")
    return x


for number in range(3):
    numbered(tf.constant(number))
tf.config.run_functions_eagerly(True)
numbered(tf.constant(1))
numbered(tf.constant(2))
tf.config.run_functions_eagerly(False)
numbered(tf.constant(3))


class Counter(tf.Module):
    def __init__(self, start):
        super().__init__()
        self.count = tf.Variable(start)

    @tf.function
    def add(self, n):
        print("tracing add")
        return self.count.assign_add(n)


first, second = Counter(1), Counter(10)
print(first.add(1).numpy(), first.add(tf.constant(1)).numpy(), second.add(1).numpy())
print([v.name for v in first.variables], first.count.numpy(), second.count.numpy())


@tf.function(jit_compile=True)
def compiled(x):
    return tf.reduce_sum(x * x)


print(compiled(tf.constant([1.0, 2.0])))


@tf.function
def wrong(x):
    return tf.matmul(x, tf.ones([3, 3]))


tried("while tracing", lambda: wrong(tf.ones([2, 2])))


@tf.function
def fails(x):
    return tf.gather(x, [5])


tried("while running", lambda: fails(tf.constant([1.0])))
tried("condition", lambda: tf.function(lambda x: bool(x), autograph=False)(tf.constant(True)))
tried("iterating", lambda: tf.function(lambda x: [y for y in x], autograph=False)(tf.constant([1])))


@tf.function
def asks_for_the_value(x):
    return x.numpy()


tried("python value", lambda: asks_for_the_value(tf.constant(1)))
