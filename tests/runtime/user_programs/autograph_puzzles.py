"""Python control flow in functions, and what is refused."""

import sys

import numpy as np
import tensorflow as tf


@tf.function
def fizz(n):
    r = tf.TensorArray(tf.string, size=0, dynamic_size=True)
    for i in tf.range(1, n + 1):
        if i % 15 == 0:
            r = r.write(i - 1, "FizzBuzz")
        elif i % 3 == 0:
            r = r.write(i - 1, "Fizz")
        elif i % 5 == 0:
            r = r.write(i - 1, "Buzz")
        else:
            r = r.write(i - 1, tf.strings.as_string(i))
    return r.stack()


print(fizz(tf.constant(15)))


@tf.function
def prim(n):
    found = []
    for p in range(2, 20):
        if all(p % q for q in range(2, p)):
            found.append(p)
    return tf.constant(found) + n


print(prim(tf.constant(0)))


class Counter(tf.Module):
    def __init__(self):
        self.c = tf.Variable(0)

    @tf.function
    def __call__(self, x):
        while self.c < x:
            self.c.assign_add(1)
        return self.c


c = Counter()
print(c(tf.constant(5)), c.variables)


@tf.function
def dct(d):
    s = 0
    for k, v in d.items():
        s += v
    return {"sum": s, "n": len(d)}


print(dct({"a": tf.constant(1), "b": tf.constant(2)}))


@tf.function
def tern(x):
    return "pos" if x > 0 else "neg"


print(tern(tf.constant(1)))


@tf.function
def logic(a, b):
    return (a and not b) or (b and not a), not a, a == b, a != b


print(logic(tf.constant(True), tf.constant(False)))


@tf.function
def chained(x):
    return 1 < x < 5


print(chained(tf.constant(3)))


@tf.function
def fact(n):
    if n <= 1:
        return 1
    return n * fact(n - 1)


print(fact(5))


@tf.function
def fact2(n):
    r = 1
    while n > 1:
        r *= n
        n -= 1
    return r


print(fact2(tf.constant(5)), fact2(5))


@tf.function
def lam(x):
    return tf.map_fn(lambda t: t * t if t > 1 else t, x)


print(lam(tf.constant([1, 2, 3])))


@tf.autograph.experimental.do_not_convert
def raw(x):
    return x + 1


@tf.function
def usesraw(x):
    return raw(x)


print(usesraw(tf.constant(1)))
print(tf.autograph.to_code(lambda x: x) if False else "ok")

try:

    @tf.function(autograph=False)
    def noag(x):
        if x > 0:
            return x
        return -x

    noag(tf.constant(1))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])


@tf.function
def nested(n):
    t = 0
    for i in tf.range(n):
        for j in tf.range(i):
            if (i + j) % 2 == 0:
                continue
            t += j
    return t


print(nested(tf.constant(6)))


@tf.function
def tryit(x):
    try:
        return tf.constant(1) + x
    finally:
        print("finally")


print(tryit(tf.constant(1)))


@tf.function
def comp(x):
    return [tf.square(i) for i in tf.unstack(x)], {k: v for k, v in zip("ab", tf.unstack(x))}


print(comp(tf.constant([1, 2])))


@tf.function
def prt(x):
    for i in tf.range(x):
        tf.print("i", i, output_stream=sys.stdout)
    print("traced")


prt(tf.constant(2))
prt(tf.constant(3))


def outer(k):
    def inner(x):
        return x * k if x > 0 else x

    return tf.function(inner)


print(outer(3)(tf.constant(2)), outer(4)(tf.constant(-2)))
