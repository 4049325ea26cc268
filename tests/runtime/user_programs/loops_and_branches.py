"""Small algorithms with loops, branches and early returns over tensors."""
# ruff: noqa - as users write it, mistakes and all

import collections
import functools
import gc
import os
import re
import sys
import weakref

import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def told(error):
    """What the error says, without what differs between machines and runs."""
    text = str(error).replace(HERE, "")
    text = re.sub(
        r"(__(?:inference|forward)_\w+?|cond_(?:true|false)|while_(?:body|cond))_\d+", r"\1", text
    )
    return re.sub(r"id=\d+|0x[0-9a-f]+", "", text)


try:

    @tf.function
    def fibonacci(n):
        a, b = tf.constant(0), tf.constant(1)
        for _ in tf.range(n):
            a, b = b, a + b
        return a

    print([int(fibonacci(i)) for i in range(8)])
    print(fibonacci(tf.constant(10)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def collatz_path(n):
        path = tf.TensorArray(tf.int32, size=0, dynamic_size=True, clear_after_read=False)
        i = 0
        while n != 1:
            path = path.write(i, n)
            n = tf.cond(tf.equal(n % 2, 0), lambda: n // 2, lambda: 3 * n + 1)
            i += 1
        path = path.write(i, n)
        return path.stack()

    print(collatz_path(tf.constant(6)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def bubble(x):
        n = tf.shape(x)[0]
        for i in tf.range(n):
            for j in tf.range(n - i - 1):
                if x[j] > x[j + 1]:
                    x = tf.tensor_scatter_nd_update(x, [[j], [j + 1]], [x[j + 1], x[j]])
        return x

    print(bubble(tf.constant([5, 2, 4, 1])))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def is_prime(n):
        if n < 2:
            return False
        i = 2
        while i * i <= n:
            if n % i == 0:
                return False
            i += 1
        return True

    print([bool(is_prime(tf.constant(k))) for k in range(12)])
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def find(m, v):
        for i in tf.range(tf.shape(m)[0]):
            for j in tf.range(tf.shape(m)[1]):
                if m[i, j] == v:
                    return tf.stack([i, j])
        return tf.constant([-1, -1])

    print(find(tf.constant([[1, 2], [3, 4]]), 3), find(tf.constant([[1, 2], [3, 4]]), 9))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def sqrt(x, eps=1e-6):
        g = x / 2.0
        while tf.abs(g * g - x) > eps:
            g = (g + x / g) / 2.0
        return g

    print(sqrt(tf.constant(2.0)), sqrt(9.0))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def rnn(xs, w, u):
        h = tf.zeros([tf.shape(xs)[0], 2])
        outs = tf.TensorArray(tf.float32, size=tf.shape(xs)[1])
        for t in tf.range(tf.shape(xs)[1]):
            h = tf.tanh(xs[:, t] @ w + h @ u)
            outs = outs.write(t, h)
        return tf.transpose(outs.stack(), [1, 0, 2]), h

    o, h = rnn(tf.ones([1, 3, 2]), tf.eye(2), tf.eye(2) * 0.5)
    print(o, h)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    w = tf.Variable(tf.eye(2))
    with tf.GradientTape() as t:
        o, h = rnn(tf.ones([1, 3, 2]), w, tf.eye(2) * 0.5)
        loss = tf.reduce_sum(h)
    print(t.gradient(loss, w))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def dice():
        return tf.random.uniform([], 1, 7, tf.int32, seed=1)

    tf.random.set_seed(42)
    print([int(dice()) for _ in range(5)])
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def first_n(ds, n):
        total = tf.constant(0, tf.int64)
        count = 0
        for x in ds:
            if count >= n:
                break
            total += x
            count += 1
        return total, count

    print(first_n(tf.data.Dataset.range(100), 5))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    def make_adder(k):
        @tf.function
        def add(x, y=10, *, z=tf.constant(1)):
            return x + y + z + k

        return add

    a1, a2 = make_adder(1), make_adder(tf.constant(100))
    print(a1(1), a2(1), a1(tf.constant(5), y=tf.constant(2)), a1(1, z=5))
    print(a1.experimental_get_tracing_count())
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def train(n):
        state = {"w": tf.constant(1.0), "hist": (tf.constant(0), tf.constant(0.0))}
        for i in tf.range(n):
            state["w"] = state["w"] * 0.9
            state["hist"] = (i, state["w"])
        return state

    print(train(tf.constant(3)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def rep(s, n):
        r = ""
        for _ in tf.range(n):
            r = r + s
        return r

    print(rep(tf.constant("ab"), tf.constant(3)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def poly(x, coeffs):
        return sum([c * x**i for i, c in enumerate(coeffs)])

    print(poly(tf.constant(2.0), (1.0, 2.0, 3.0)))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    f = tf.function(lambda xs: tf.map_fn(lambda x: x**2 if x > 2 else x, xs))
    print(f(tf.constant([1, 2, 3, 4])))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(n):
        print("trace loop")
        for i in tf.range(n):
            print("tracing body", i)
            tf.print("run", i, output_stream=sys.stdout)
        for i in range(2):
            print("py", i)

    f(tf.constant(2))
    f(tf.constant(1))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def fact(n):
        if n < 2:
            return 1
        return n * fact(n - 1)

    print(fact(5))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def fact(n):
        if n < 2:
            return tf.constant(1)
        return n * fact(n - 1)

    try:
        print(fact(tf.constant(5)))
    except Exception as e:
        print(type(e).__name__)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    counter = 0

    @tf.function
    def f(x):
        global counter
        counter += 1
        return x + counter

    print(f(tf.constant(1)), f(tf.constant(1)), counter, f(tf.constant(1.0)), counter)
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        try:
            y = x / 0
        except ZeroDivisionError:
            y = x
        with tf.device("/CPU:0"):
            z = y + 1
        return z

    print(f(tf.constant(1.0)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        tf.debugging.assert_shapes([(x, ("B", 3))])
        assert x.shape[1] == 3, "py assert"
        return x

    print(f(tf.ones([2, 3])).shape)
    f(tf.ones([2, 4]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(a, b):
        n = 0
        while a > 0 and b > 0 or n < 2:
            a -= 1
            b -= 2
            n += 1
        return a, b, n

    print(f(tf.constant(5), tf.constant(4)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(pairs):
        s = 0
        for a, b in pairs:
            s += a * b
        return s

    print(f(tf.constant([[1, 2], [3, 4]])))
    print(f([(tf.constant(1), 2), (3, 4)]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        a = list(zip([1, 2], [x, x]))
        b = list(map(lambda v: v + 1, [x, x * 2]))
        c = [v for v in filter(lambda v: v is not None, [None, x])]
        return a[1][1], b, c, max([x, x + 1], key=lambda t: 0), any([False, True]), abs(x)

    print(f(tf.constant(-2)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return any(x > 2), all(x > 0), max(x), sum(x)

    f(tf.constant([1, 2, 3]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        y = 1 if x > 0 else 2.0
        return y

    f(tf.constant(1))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        y = x + 1
        z = y
        del y
        return z

    print(f(tf.constant(1)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        y = x
        if x > 0:
            del y
        return y

    f(tf.constant(1))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        if x > 0:
            tmp = x * 2
            x = tmp + 1
        return x

    print(f(tf.constant(1)), f(tf.constant(-1)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(n):
        for i in tf.range(n):
            last = i * 2
        return last

    print(f(tf.constant(3)))
    f(tf.constant(0))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(n):
        best = None
        for i in tf.range(n):
            if best is None or i > best:
                best = i
        return best

    f(tf.constant(3))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(n):
        x = (1, 2)
        for i in tf.range(n):
            x = (1, 2, 3)
        return x

    f(tf.constant(3))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(n):
        while n > 0:
            n -= 1
            if n == 3:
                return n * 100
        return n

    print(f(tf.constant(6)), f(tf.constant(2)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.cond(x > 0, lambda: (x, x), lambda: x)

    print(f(tf.constant(2)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.cond(x > 0, lambda: x, lambda: tf.cast(x, tf.float32))

    print(f(tf.constant(2)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.cond(x > 0, lambda: x, lambda: None)

    print(f(tf.constant(2)))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(
        tf.case(
            [(tf.constant(False), lambda: 1), (tf.constant(True), lambda: 2)], default=lambda: 3
        )
    )
    print(
        tf.case([(tf.constant(True), lambda: 1), (tf.constant(True), lambda: 2)], exclusive=False)
    )
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(tf.case([(tf.constant(False), lambda: 1)]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        return tf.case([(x < 0, lambda: -1), (x > 5, lambda: 5)], default=lambda: x)

    print(f(tf.constant(3)), f(tf.constant(-3)), f(tf.constant(9)))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(tf.while_loop(lambda i: i < 5, lambda i: i + 2, [0]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(n):
        return tf.while_loop(
            lambda i, a: i < n,
            lambda i, a: [i + 1, tf.concat([a, [i]], 0)],
            [0, tf.zeros([0], tf.int32)],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
        )

    print(f(tf.constant(4)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(n):
        return tf.while_loop(lambda i: i < n, lambda i: tf.cast(i, tf.float32), [tf.constant(0)])

    print(f(tf.constant(4)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(n):
        return tf.while_loop(lambda i: i < n, lambda i: (i, i), [tf.constant(0)])

    print(f(tf.constant(4)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(n):
        return tf.while_loop(
            lambda i, d: i < n,
            lambda i, d: (i + 1, {"x": d["x"] + 1.0, "y": d["y"]}),
            (tf.constant(0), {"x": 1.0, "y": tf.ones([2])}),
            maximum_iterations=3,
        )

    print(f(tf.constant(10)))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(
        tf.map_fn(
            lambda x: (x, x * 2), tf.constant([1, 2]), fn_output_signature=(tf.int32, tf.int32)
        )
    )
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(tf.map_fn(lambda x: x, tf.constant(3)))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(tf.scan(lambda a, x: a + x, tf.range(5)))
    print(tf.scan(lambda a, x: a + x, tf.range(5), initializer=10, reverse=True))
    print(
        tf.foldl(lambda a, x: a * 2 + x, tf.constant([1, 2, 3])),
        tf.foldr(lambda a, x: a * 2 + x, tf.constant([1, 2, 3])),
    )
except Exception as error:
    print(type(error).__name__, told(error))

try:
    init = (np.array(0), np.array(1))
    print(tf.scan(lambda a, _: (a[1], a[0] + a[1]), tf.zeros(6), init))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    ta = tf.TensorArray(tf.float32, size=3)
    ta = ta.write(0, 1.0).write(1, 2.0).write(2, 3.0)
    print(ta.stack(), ta.read(1), ta.size(), ta.gather([0, 2]), ta.concat() if False else "")
except Exception as error:
    print(type(error).__name__, told(error))

try:
    ta = tf.TensorArray(tf.float32, size=2)
    ta = ta.write(5, 1.0)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    ta = tf.TensorArray(tf.float32, size=2)
    ta = ta.write(0, 1)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    ta = tf.TensorArray(tf.int32, size=2)
    print(ta.write(0, 1).stack())
except Exception as error:
    print(type(error).__name__, told(error))

try:
    ta = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    print(ta.stack())
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f():
        ta = tf.TensorArray(tf.int32, size=0, dynamic_size=True, clear_after_read=False)
        for i in tf.range(4):
            ta = ta.write(i, i * i)
        return ta.stack(), ta.read(1), ta.size(), ta.gather([3, 0])

    print(f())
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f():
        ta = tf.TensorArray(tf.int32, size=2)
        return ta.read(0)

    print(f())
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f():
        ta = tf.TensorArray(tf.int32, size=2)
        ta = ta.write(3, 1)
        return ta.stack()

    print(f())
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def f(x):
        ta = tf.TensorArray(tf.float32, size=3, infer_shape=False)
        ta = ta.split(x, [1, 2, 3])
        return ta.concat(), ta.read(1)

    print(f(tf.range(6.0)))
except Exception as error:
    print(type(error).__name__, told(error))
