"""Programs that spend a known time in one phase; `record`ed for tests/test_phases.py.

tflogscope record -o NAME__tfX.log.zst -- python program.py NAME NAME__tfX.json
"""

from __future__ import annotations

import json
import sys
import time

T0 = time.time()
name, out = sys.argv[1:3]
clock = {}


class ph:
    def __init__(s, n):
        s.n = n

    def __enter__(s):
        s.t = time.time()

    def __exit__(s, *a):
        clock[s.n] = clock.get(s.n, 0) + time.time() - s.t


import numpy as np
import tensorflow as tf


def start(sec):
    time.sleep(sec)
    clock["start-up"] = time.time() - T0


x = np.random.rand(64, 256).astype("float32")


def mlp_vars():
    return [tf.Variable(tf.random.normal([256, 256]) * 0.05) for _ in range(3)]


def run():
    if name == "plain":
        start(1.0)
        w = mlp_vars()

        @tf.function
        def step(x):
            for v in w:
                x = tf.nn.relu(x @ v)
            for v in w:
                v.assign_sub(v * 1e-4)
            return tf.reduce_sum(x)

        X = tf.constant(x)
        with ph("first"):
            step(X)
        for i in range(300):
            with ph("compute"):
                step(X).numpy()
            if i % 30 == 0:
                with ph("python"):
                    time.sleep(0.1)
    if name == "trace":
        start(0.1)
        w = mlp_vars()

        @tf.function
        def step(x, i):
            t = time.time()
            time.sleep(0.5)
            for v in w:
                x = tf.nn.relu(x @ v)
            r = tf.reduce_sum(x) * i
            clock["tracing"] = clock.get("tracing", 0) + time.time() - t
            return r

        X = tf.constant(x)
        for i in range(4):
            with ph("calls"):
                step(X, i)
            with ph("python"):
                time.sleep(0.2)
    if name == "tracenoarg":
        start(0.1)
        w = mlp_vars()
        X = tf.constant(x)

        def make():
            @tf.function
            def step():
                t = time.time()
                time.sleep(0.5)
                y = X
                for v in w:
                    y = tf.nn.relu(y @ v)
                clock["tracing"] = clock.get("tracing", 0) + time.time() - t
                return y

            return step

        for i in range(3):
            f = make()
            time.sleep(0.3)
            with ph("calls"):
                f()
            for _ in range(20):
                f()
    if name == "gen":
        start(0.1)
        w = mlp_vars()
        X = tf.constant(x)

        def g():
            for i in range(40):
                time.sleep(0.05)
                yield x

        ds = tf.data.Dataset.from_generator(g, output_signature=tf.TensorSpec([64, 256]))

        @tf.function
        def step(x):
            for v in w:
                x = tf.nn.relu(x @ v)
            return x

        it = iter(ds)
        while True:
            try:
                with ph("input-wait"):
                    b = next(it)
            except StopIteration:
                break
            with ph("step"):
                step(b)
    if name == "fit":
        start(0.1)
        m = tf.keras.Sequential(
            [tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(10)]
        )
        m.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))

        def g():
            for i in range(40):
                time.sleep(0.05)
                yield x, np.zeros(64, "int32")

        ds = tf.data.Dataset.from_generator(
            g, output_signature=(tf.TensorSpec([64, 256]), tf.TensorSpec([64], tf.int32))
        )
        with ph("fit"):
            m.fit(ds, verbose=0)
        clock["input-wait"] = 40 * 0.0502
    if name == "ckpt":
        start(0.1)
        v = [tf.Variable(tf.random.normal([2000, 2000])) for _ in range(4)]
        c = tf.train.Checkpoint(v=v)

        @tf.function
        def step():
            for a in v:
                a.assign(a * 1.0001)

        for i in range(8):
            with ph("compute"):
                step()
            with ph("checkpoint"):
                c.save("/tmp/ck/x")
            with ph("python"):
                time.sleep(0.05)
    if name == "eager":
        start(0.5)
        X = tf.random.normal([1024, 1024])
        with ph("eager"):
            for i in range(40):
                Y = tf.nn.relu(X @ X)
        with ph("python"):
            time.sleep(1)
    if name == "xla":
        start(0.1)
        w = mlp_vars()

        @tf.function(jit_compile=True)
        def step(x):
            for i in range(12):
                for v in w:
                    x = tf.nn.softmax(x @ v)
            return x

        X = tf.constant(x)
        with ph("first"):
            step(X).numpy()
        with ph("compute"):
            for i in range(200):
                step(X).numpy()
    if name == "pyfunc":
        start(0.1)

        def slow(a):
            time.sleep(0.04)
            return a

        @tf.function
        def step(x):
            return tf.reduce_sum(tf.numpy_function(slow, [x], tf.float32))

        X = tf.constant(x)
        with ph("first"):
            step(X)
        with ph("compute"):
            for i in range(30):
                step(X)
        with ph("python"):
            time.sleep(0.5)


run()
clock["run"] = time.time() - T0
json.dump(clock, open(out, "w"))
