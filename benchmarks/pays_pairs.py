"""Pairs of programs that differ in one thing.

Usage: pays_pairs.py NAME before|after OUT.json

Each writes {"loop_s": …}: what its loop took by its own clock, without what came before it.
`before` does what a finding advises against; `after` does what it advises.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf

AFTER = len(sys.argv) > 2 and sys.argv[2] == "after"
PAIRS: dict[str, Callable[[], float]] = {}


def pair(run: Callable[[], float]) -> Callable[[], float]:
    """A pair by the name of its function, which gives the loop's time in seconds."""
    PAIRS[run.__name__] = run
    return run


def timed(loop: Callable[[], object]) -> float:
    """What a loop takes."""
    began = time.perf_counter()
    loop()
    return time.perf_counter() - began


def repeated(step: Callable[..., object], times: int, *args: object) -> float:
    """What so many steps take; the first one is left out."""
    step(*args)
    return timed(lambda: [step(*args) for _ in range(times)])


def dense(width: int, depth: int = 1) -> list[tf.Variable]:
    """Weights of layers."""
    values = np.random.default_rng(0).normal(size=(width, width)).astype("float32") / width**0.5
    return [tf.Variable(values) for _ in range(depth)]


def train(weights: list[tf.Variable]) -> Callable[[tf.Tensor], tf.Tensor]:
    """A training step over layers."""

    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            y = x
            for each in weights:
                y = tf.nn.relu(tf.matmul(y, each))
            loss = tf.reduce_mean(tf.square(y))
        for each, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            each.assign_sub(0.01 * gradient)
        return loss

    return step


def keras(width: int = 64, **compile_with: object) -> tf.keras.Model:
    """A small model, compiled."""
    layers = [tf.keras.layers.Dense(width, activation="relu") for _ in range(4)]
    model = tf.keras.Sequential([tf.keras.Input((width,)), *layers, tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse", **compile_with)
    return model


def batches(count: int, width: int = 64, size: int = 32) -> tf.data.Dataset:
    """Batches that are there already."""
    x = tf.ones((count * size, width)), tf.ones((count * size, 1))
    return tf.data.Dataset.from_tensor_slices(x).batch(size).cache().prefetch(2)


def fitted(model: tf.keras.Model, data: tf.data.Dataset, **fit_with: object) -> float:
    """What `fit` takes, after two batches."""
    model.fit(data.take(2), verbose=0)
    return timed(lambda: model.fit(data, verbose=0, **fit_with))


def consumed(data: tf.data.Dataset, width: int, depth: int) -> float:
    """What a compiled training step over all of the data takes, after one epoch of two batches.

    To free an iterator can take half a second, by chance: that is not what a pair changes.
    """
    step = tf.function(train(dense(width, depth)))
    for x in data.take(2):
        step(x)
    kept = []

    def loop() -> None:
        kept.append(iter(data))
        for x in kept[0]:
            step(x)

    return timed(loop)


# ---- the pairs -----------------------------------------------------------------------------------


@pair
def retrace() -> float:
    """A Python number that counts up; a tensor."""
    weights = dense(64, 4)

    @tf.function
    def step(x: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
        return train(weights)(x) * tf.cast(number, tf.float32)

    x = tf.ones((32, 64))
    step(x, tf.constant(0) if AFTER else 0)
    return timed(lambda: [step(x, tf.constant(i) if AFTER else i) for i in range(1, 21)])


@pair
def shapes() -> float:
    """Batches of many lengths; one signature for all."""
    weights = dense(64, 4)
    signature = [tf.TensorSpec((None, 64))] if AFTER else None
    step = tf.function(train(weights), input_signature=signature)
    data = [tf.ones((4 + i, 64)) for i in range(20)]
    step(tf.ones((3, 64)))
    return timed(lambda: [step(x) for x in data])


@pair
def made_again() -> float:
    """A tf.function made in the loop; made once."""
    weights, x = dense(64, 4), tf.ones((32, 64))
    once = tf.function(train(weights))
    once(x)
    return timed(lambda: [(once if AFTER else tf.function(train(weights)))(x) for _ in range(20)])


@pair
def eager_step() -> float:
    """A training step op by op; in a tf.function."""
    step = train(dense(128, 4))
    return repeated(tf.function(step) if AFTER else step, 500, tf.ones((32, 128)))


@pair
def eager_forward() -> float:
    """A prediction op by op, no training; in a tf.function."""
    weights = dense(96, 6)

    def predict(x: tf.Tensor) -> tf.Tensor:
        for each in weights:
            x = tf.nn.softmax(tf.matmul(x, each) + 1.0) * 2.0
        return x

    return repeated(tf.function(predict) if AFTER else predict, 2000, tf.ones((16, 96)))


@pair
def run_eagerly() -> float:
    """Keras' step op by op; compiled."""
    return fitted(keras(run_eagerly=not AFTER), batches(100))


@pair
def callback() -> float:
    """A callback that computes norms of all weights after each batch; none."""

    class Norms(tf.keras.callbacks.Callback):  # type: ignore[misc]  # TensorFlow has no types
        def on_train_batch_end(self, *_: object, **__: object) -> None:
            for each in self.model.trainable_variables:
                tf.sqrt(tf.reduce_sum(tf.square(each * 2.0))).numpy()

    return fitted(keras(), batches(300), callbacks=[] if AFTER else [Norms()])


@pair
def eager_metric() -> float:
    """Eager ops after each compiled step; inside of it."""
    plain = train(dense(64, 4))

    def with_metric(x: tf.Tensor) -> tf.Tensor:
        loss = plain(x)
        for _ in range(10):
            loss = tf.sqrt(loss * loss + 1.0)
        return loss

    compiled, x = tf.function(plain), tf.ones((32, 64))

    def beside(x: tf.Tensor) -> tf.Tensor:
        loss = compiled(x)
        for _ in range(10):
            loss = tf.sqrt(loss * loss + 1.0)
        return loss

    return repeated(tf.function(with_metric) if AFTER else beside, 1000, x)


@pair
def slow_map() -> float:
    """A map over one element at a time; num_parallel_calls.

    Its random op has a state: without one TensorFlow runs elements in parallel by itself.
    """

    def slow(_: tf.Tensor) -> tf.Tensor:
        x = tf.random.normal((256, 128))
        for _ in range(40):
            x = tf.sin(x) * tf.exp(-x * x)
        return x

    calls = tf.data.AUTOTUNE if AFTER else None
    return consumed(tf.data.Dataset.range(200).map(slow, num_parallel_calls=calls), 128, 2)


@pair
def generator() -> float:
    """A generator that waits longer than the step takes; one that does not wait."""

    def rows() -> object:
        for _ in range(200):
            if not AFTER:
                time.sleep(0.006)
            yield np.ones((64, 64), np.float32)

    spec = tf.TensorSpec((64, 64))
    return consumed(tf.data.Dataset.from_generator(rows, output_signature=spec), 64, 2)


@pair
def cache() -> float:
    """Elements that are worked out again in each epoch; cached.

    Few ops: those of a map take time in each epoch's iterator, too, which a cache leaves.
    """
    phases = tf.random.normal((256, 64, 160))

    def slow(i: tf.Tensor) -> tf.Tensor:
        x = tf.reduce_mean(tf.sin(phases + tf.cast(i, tf.float32)), axis=-1)
        return x, tf.ones((256, 1))

    data = tf.data.Dataset.range(60).map(slow, num_parallel_calls=2)
    return fitted(keras(), (data.cache() if AFTER else data).prefetch(2), epochs=4)


@pair
def python_map() -> float:
    """A map that calls Python; TensorFlow ops."""

    def in_python(x: np.ndarray) -> np.ndarray:
        return np.array([[float(v) * 2 + 1 for v in row] for row in x], np.float32)

    def slow(x: tf.Tensor) -> tf.Tensor:
        if AFTER:
            return x * 2 + 1
        return tf.ensure_shape(tf.numpy_function(in_python, [x], tf.float32), (128, 64))

    return consumed(tf.data.Dataset.from_tensors(tf.ones((128, 64))).repeat(400).map(slow), 64, 2)


@pair
def python_in_step() -> float:
    """A py_function in a compiled step; TensorFlow ops."""
    plain = train(dense(64, 4))

    def clipped(x: tf.Tensor) -> tf.Tensor:
        for _ in range(4):
            x = tf.minimum(tf.maximum(x * 1.01, -1.0), 1.0)
        return x

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        y = clipped(x) if AFTER else tf.py_function(clipped, [x], tf.float32)
        return plain(tf.ensure_shape(y, (32, 64)))

    return repeated(step, 1000, tf.ones((32, 64)))


@pair
def checkpoints() -> float:
    """A checkpoint after each step; after the last one."""
    weights = dense(256, 8)
    step, x = tf.function(train(weights)), tf.ones((64, 256))
    saver = tf.train.Checkpoint(**{f"w{i}": each for i, each in enumerate(weights)})
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "ckpt")
        step(x)
        saver.write(path)

        def loop() -> None:
            for i in range(60):
                step(x)
                if not AFTER or i == 59:
                    saver.write(path)

        return timed(loop)


@pair
def float64() -> float:
    """Products in float64; in float32."""
    type_ = tf.float32 if AFTER else tf.float64
    weights = [tf.Variable(tf.cast(each, type_)) for each in dense(512, 3)]
    return repeated(tf.function(train(weights)), 50, tf.ones((256, 512), type_))


@pair
def python_between() -> float:
    """Python code between eager ops; NumPy does it at once."""

    def step(x: tf.Tensor) -> tf.Tensor:
        y = tf.nn.relu(tf.matmul(x, x))
        values = y.numpy()
        if AFTER:
            values = values / values.max()
        else:
            top = max(float(v) for row in values for v in row)
            values = np.array([[float(v) / top for v in row] for row in values], np.float32)
        return tf.reduce_sum(tf.matmul(values, x))

    return repeated(step, 200, tf.random.stateless_normal((128, 128), (1, 2)))


@pair
def tiny_loop() -> float:
    """A loop over rows in a graph; one product."""
    w = dense(32)[0]

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        if AFTER:
            return tf.nn.relu(tf.matmul(x, w, transpose_b=True))
        out = tf.TensorArray(tf.float32, 200)
        for i in tf.range(200):
            out = out.write(i, tf.nn.relu(tf.linalg.matvec(w, x[i])))
        return out.stack()

    return repeated(step, 15, tf.ones((200, 32)))


@pair
def tiny_sums() -> float:
    """A sum element by element in a graph; tf.reduce_sum."""

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        if AFTER:
            return tf.reduce_sum(x * x)
        total = tf.constant(0.0)
        for i in tf.range(300):
            total += x[i] * x[i]
        return total

    return repeated(step, 15, tf.ones((300,)))


@pair
def mapped() -> float:
    """tf.map_fn; tf.vectorized_map."""
    step = tf.vectorized_map if AFTER else tf.map_fn

    @tf.function
    def spans(x: tf.Tensor) -> tf.Tensor:
        return step(lambda row: tf.reduce_max(row) - tf.reduce_min(row), x)

    return repeated(spans, 15, tf.ones((200, 32)))


@pair
def compiled_shapes() -> float:
    """XLA compiles for each length; for few lengths."""
    w = dense(64)[0]

    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec((None, 64))])
    def score(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.nn.softmax(tf.matmul(x, w)))

    lengths = [64 if AFTER else 40 + i for i in range(12)]
    score(tf.ones((64, 64)))
    return timed(lambda: [score(tf.ones((each, 64))) for each in lengths])


if __name__ == "__main__":
    Path(sys.argv[3]).write_text(json.dumps({"loop_s": PAIRS[sys.argv[1]]()}))
