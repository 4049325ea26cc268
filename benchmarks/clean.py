"""Programs with nothing to mend: fed from memory or well ahead, compiled, no Python in the loop.

Usage: clean.py NAME

A recording of each has no warning in its findings.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import tensorflow as tf

K = tf.keras
RNG = np.random.default_rng(0)
LOSS = K.losses.SparseCategoricalCrossentropy(from_logits=True)
PROGRAMS: dict[str, Callable[[], None]] = {}


def program(run: Callable[[], None]) -> Callable[[], None]:
    """A program by the name of its function."""
    PROGRAMS[run.__name__] = run
    return run


def random(*shape: int) -> np.ndarray:
    """Numbers in float32."""
    return RNG.random(shape, np.float32)


def mlp(width: int = 256) -> tf.keras.Model:
    """A small model."""
    layers = [K.layers.Dense(width, activation="relu") for _ in range(2)]
    return K.Sequential([K.Input((64,)), *layers, K.layers.Dense(10, dtype="float32")])


def batches(count: int, *shape: int, size: int = 64) -> tf.data.Dataset:
    """Batches of the same size, got ready ahead."""
    x, y = random(count * size, *shape), RNG.integers(0, 10, count * size)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(size, drop_remainder=True)
    return data.prefetch(tf.data.AUTOTUNE)


def descent(weights: list[tf.Variable], rate: object) -> Callable[[tf.Tensor], tf.Tensor]:
    """A training step over layers, compiled."""

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            for each in weights:
                x = tf.nn.relu(tf.matmul(x, each))
            loss = tf.reduce_mean(tf.cast(x, tf.float32))
        for each, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            each.assign_sub(rate * gradient)
        return loss

    return step


@program
def fit_mlp() -> None:
    """Keras' fit on a data set."""
    model = mlp()
    model.compile("adam", LOSS, metrics=["accuracy"])
    model.fit(batches(100, 64), epochs=4, verbose=0)


@program
def fit_arrays_validation() -> None:
    """Keras' fit on arrays, with validation, and evaluate."""
    model, x, y = mlp(), random(6400, 64), RNG.integers(0, 10, 6400)
    model.compile("sgd", LOSS, metrics=["accuracy"])
    model.fit(x, y, batch_size=64, epochs=4, verbose=0, validation_data=(x[:640], y[:640]))
    model.evaluate(x, y, batch_size=64, verbose=0)


@program
def fit_bfloat16() -> None:
    """Keras' fit in mixed precision."""
    K.mixed_precision.set_global_policy("mixed_bfloat16")
    model = mlp(512)
    model.compile("sgd", LOSS)
    model.fit(batches(100, 64), epochs=3, verbose=0)


@program
def fit_conv() -> None:
    """Convolutions."""
    first, second = (K.layers.Conv2D(size, 3, activation="relu") for size in (16, 32))
    top = [K.layers.GlobalAveragePooling2D(), K.layers.Dense(10)]
    model = K.Sequential([K.Input((28, 28, 1)), first, K.layers.MaxPooling2D(), second, *top])
    model.compile("adam", LOSS)
    model.fit(batches(40, 28, 28, 1, size=32), epochs=3, verbose=0)


@program
def fit_lstm_steps() -> None:
    """Ten steps a call."""
    model = K.Sequential([K.Input((16, 8)), K.layers.LSTM(32), K.layers.Dense(10)])
    model.compile("adam", LOSS, steps_per_execution=10)
    model.fit(batches(100, 16, 8, size=32), epochs=3, verbose=0)


@program
def fit_map() -> None:
    """A map whose elements are kept."""

    def element(i: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.ones((64,)) * tf.cast(i, tf.float32) / 4000.0, i % 10

    data = tf.data.Dataset.range(4000).map(element, num_parallel_calls=tf.data.AUTOTUNE)
    model = mlp(512)
    model.compile("adam", LOSS)
    data = data.batch(32, drop_remainder=True).cache().prefetch(tf.data.AUTOTUNE)
    model.fit(data, epochs=4, verbose=0)


@program
def loop_plain() -> None:
    """A loop over a data set."""
    step = descent([tf.Variable(random(256, 256) / 16) for _ in range(4)], 1e-3)
    data = tf.data.Dataset.from_tensor_slices(random(6400, 256)).batch(64).prefetch(2)
    for _ in range(5):
        for x in data:
            step(x)


@program
def loop_tiny() -> None:
    """Steps that take less than what calls them."""
    step = descent([tf.Variable(random(16, 16))], 1e-3)
    data = tf.data.Dataset.from_tensor_slices(random(1600, 16)).batch(8).prefetch(2)
    for _ in range(5):
        for x in data:
            step(x)


@program
def loop_in_graph() -> None:
    """An epoch a call."""
    weights = tf.Variable(random(128, 128) / 16)
    data = tf.data.Dataset.from_tensor_slices(random(3200, 128)).batch(32, drop_remainder=True)
    data = data.prefetch(2)

    @tf.function
    def epoch() -> tf.Tensor:
        total = 0.0
        for x in data:
            y = tf.nn.relu(tf.matmul(tf.nn.relu(tf.matmul(x, weights)), weights))
            weights.assign_sub(1e-4 * tf.matmul(x, y, transpose_a=True))
            total += tf.reduce_sum(y)
        return total

    for _ in range(5):
        epoch()


@program
def loop_bfloat16() -> None:
    """Weights in bfloat16."""
    weights = [tf.Variable(tf.cast(random(256, 256) / 16, tf.bfloat16)) for _ in range(3)]
    step, x = descent(weights, tf.cast(1e-3, tf.bfloat16)), tf.cast(random(64, 256), tf.bfloat16)
    for _ in range(300):
        step(x)


@program
def loop_keras_model() -> None:
    """A Keras model in a loop of one's own."""
    model, optimizer = mlp(), K.optimizers.Adam()
    optimizer.build(model.trainable_variables)

    @tf.function
    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = LOSS(y, model(x, training=True))
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    for _ in range(4):
        for x, y in batches(80, 64):
            step(x, y)


@program
def serve() -> None:
    """Requests of several sizes, one signature."""
    model = mlp()
    signature = [tf.TensorSpec((None, 64))]
    answer = tf.function(lambda x: tf.nn.softmax(model(x)), input_signature=signature)
    for i in range(300):
        answer(tf.constant(random(1 + i % 8, 64)))


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
