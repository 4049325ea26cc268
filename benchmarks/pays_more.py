"""More pairs of programs that differ in one thing; usage as that of pays_pairs.py.

They do what its pairs do in other ways: Keras and plain loops, other sizes, sleeps, files.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tensorflow as tf
from pays_pairs import AFTER, PAIRS, pair, repeated, timed, train

PAIRS.clear()
K = tf.keras
RNG = np.random.default_rng(1)
LOSS = K.losses.SparseCategoricalCrossentropy(from_logits=True)


def random(*shape: int) -> np.ndarray:
    """Numbers in float32."""
    return RNG.random(shape, np.float32)


def labels(count: int) -> np.ndarray:
    """Classes."""
    return RNG.integers(0, 10, count)


def mlp(inputs: int = 32, width: int = 96) -> tf.keras.Model:
    """A small model."""
    layers = [K.layers.Dense(width, activation=name) for name in ("relu", "tanh")]
    return K.Sequential([K.Input((inputs,)), *layers, K.layers.Dense(10)])


def keras_step(model: tf.keras.Model, *, compiled: bool = True) -> object:
    """A training step of one's own with a Keras model and optimizer."""
    optimizer = K.optimizers.Adam()
    optimizer.build(model.trainable_variables)

    def step(x: tf.Tensor, y: tf.Tensor, scale: object = 1) -> tf.Tensor:
        weights = model.trainable_variables
        with tf.GradientTape() as tape:
            loss = LOSS(y, model(x, training=True)) * tf.cast(scale, tf.float32)
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    return tf.function(step) if compiled else step


def small_step(width: int = 64) -> object:
    """A compiled training step without Keras."""
    return tf.function(train([tf.Variable(random(width, width) / 16) for _ in range(3)]))


def fitted(with_callbacks: list[object], count: int, epochs: int = 1) -> float:
    """What fit takes with callbacks, after two batches."""
    model, x, y = mlp(), random(32 * count, 32), labels(32 * count)
    model.compile("sgd", LOSS)
    for each in with_callbacks:
        each.model_of_pair = model
    model.fit(x[:64], y[:64], verbose=0)
    return timed(lambda: model.fit(x, y, verbose=0, epochs=epochs, callbacks=with_callbacks))


# ---- retraces ------------------------------------------------------------------------------------


@pair
def retrace_epoch() -> float:
    """The epoch's number; a tensor."""
    step = keras_step(mlp())
    x, y = tf.constant(random(32, 32)), tf.constant(labels(32))
    epochs = [tf.constant(i) if AFTER else i for i in range(4)]
    return timed(lambda: [step(x, y, epoch) for epoch in epochs for _ in range(10)])


@pair
def retrace_length() -> float:
    """Texts of many lengths; one signature."""
    table, weights = tf.Variable(random(1000, 32)), tf.Variable(random(32, 32))

    def forward(ids: tf.Tensor) -> tf.Tensor:
        x = tf.nn.embedding_lookup(table, ids)
        for _ in range(4):
            x = tf.nn.tanh(tf.einsum("bld,de->ble", x, weights))
        return tf.reduce_sum(tf.nn.softmax(x))

    signature = [tf.TensorSpec((8, None), tf.int64)] if AFTER else None
    step = tf.function(forward, input_signature=signature)
    data = [tf.constant(RNG.integers(0, 1000, (8, 10 + 2 * i))) for i in range(12)]
    step(data[0])
    return timed(lambda: [step(each) for each in data])


@pair
def retrace_lambda() -> float:
    """A lambda made in the loop; made once."""
    weights, x = tf.Variable(random(128, 128)), tf.constant(random(16, 128))

    def made() -> object:
        return tf.function(lambda a: tf.reduce_mean(tf.nn.gelu(tf.matmul(a, weights))))

    once = made()
    return timed(lambda: [(once if AFTER else made())(x) for _ in range(12)])


@pair
def retrace_rate() -> float:
    """A Python float that falls; a tensor."""
    weights = tf.Variable(random(64, 64))

    @tf.function
    def step(x: tf.Tensor, rate: object) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.tanh(tf.matmul(x, weights)) ** 2)
        weights.assign_sub(rate * tape.gradient(loss, weights))

    x, rates = tf.constant(random(64, 64)), [0.1 * 0.9 ** (i // 10) for i in range(100)]
    return timed(lambda: [step(x, tf.constant(each) if AFTER else each) for each in rates])


# ---- eager ---------------------------------------------------------------------------------------


@pair
def eager_keras_loop() -> float:
    """A Keras model in an eager loop; in a tf.function."""
    step = keras_step(mlp(64, 128), compiled=AFTER)
    return repeated(step, 150, tf.constant(random(64, 64)), tf.constant(labels(64)))


@pair
def eager_rnn() -> float:
    """Time steps op by op; in a tf.function."""
    inputs, state = tf.Variable(random(32, 64) / 8), tf.Variable(random(64, 64) / 8)

    def forward(x: tf.Tensor) -> tf.Tensor:
        h = tf.zeros((16, 64))
        for t in range(20):
            h = tf.tanh(tf.matmul(x[:, t], inputs) + tf.matmul(h, state))
        return tf.reduce_mean(h)

    return repeated(
        tf.function(forward) if AFTER else forward, 150, tf.constant(random(16, 20, 32))
    )


@pair
def functions_eagerly() -> float:
    """tf.config.run_functions_eagerly; without."""
    tf.config.run_functions_eagerly(not AFTER)
    return repeated(small_step(48), 300, tf.constant(random(16, 48)))


@pair
def run_eagerly_conv() -> float:
    """A convolution with run_eagerly; compiled."""
    layers = [K.layers.Conv2D(8, 3, activation="relu"), K.layers.MaxPooling2D()]
    layers += [K.layers.Flatten(), K.layers.Dense(10)]
    model = K.Sequential([K.Input((16, 16, 3)), *layers])
    model.compile("adam", LOSS, metrics=["accuracy"], run_eagerly=not AFTER)
    x, y = random(960, 16, 16, 3), labels(960)
    model.fit(x[:32], y[:32], batch_size=16, verbose=0)
    return timed(lambda: model.fit(x, y, batch_size=16, verbose=0, epochs=2))


# ---- data ----------------------------------------------------------------------------------------


@pair
def fit_generator_sleep() -> float:
    """A generator that waits, in fit; one that does not."""

    def rows() -> object:
        for _ in range(120):
            if not AFTER:
                time.sleep(0.008)
            yield np.ones((32, 32), np.float32), np.zeros(32, np.int64)

    spec = tf.TensorSpec((32, 32)), tf.TensorSpec((32,), tf.int64)
    data = tf.data.Dataset.from_generator(rows, output_signature=spec)
    model = mlp()
    model.compile("adam", LOSS)
    model.fit(tf.ones((32, 32)), tf.zeros(32, tf.int64), verbose=0)
    return timed(lambda: model.fit(data, verbose=0))


@pair
def plain_generator_sleep() -> float:
    """Batches of plain Python that wait; that do not."""
    step = small_step()
    step(tf.ones((32, 64)))

    def loop() -> None:
        for _ in range(150):
            if not AFTER:
                time.sleep(0.004)
            step(tf.constant(np.ones((32, 64), np.float32)))

    return timed(loop)


@pair
def fit_sequence() -> float:
    """Keras' own data set of Python that waits; that does not."""

    class Data(getattr(K.utils, "PyDataset", K.utils.Sequence)):  # type: ignore[misc]
        def __len__(self) -> int:
            return 100

        def __getitem__(self, _: int) -> tuple[np.ndarray, np.ndarray]:
            if not AFTER:
                time.sleep(0.006)
            return np.ones((32, 32), np.float32), np.zeros(32, np.int64)

    model = mlp()
    model.compile("sgd", LOSS)
    model.fit(tf.ones((32, 32)), tf.zeros(32, tf.int64), verbose=0)
    return timed(lambda: model.fit(Data(), verbose=0))


@pair
def map_numpy_sleep() -> float:
    """Python in a map that waits; that does not."""

    def load(i: int) -> np.ndarray:
        if not AFTER:
            time.sleep(0.005)
        return np.full((16, 64), float(i), np.float32)

    def mapped(i: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(tf.numpy_function(load, [i], tf.float32), (16, 64))

    step = small_step()
    step(tf.ones((16, 64)))

    def loop() -> None:
        for x in tf.data.Dataset.range(150).map(mapped):
            step(x)

    return timed(loop)


@pair
def py_function_map_fit() -> float:
    """Eager ops in a map of fit; TensorFlow ops."""

    def augment(x: tf.Tensor) -> tf.Tensor:
        for _ in range(20):
            x = tf.roll(x, 1, 0) * 0.99 + 0.01
        return x

    def mapped(x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        z = augment(x) if AFTER else tf.py_function(augment, [x], tf.float32)
        return tf.ensure_shape(z, (32, 32)), y

    x, y = random(100, 32, 32), labels(3200).reshape(100, 32)
    data = tf.data.Dataset.from_tensor_slices((x, y)).map(mapped).prefetch(tf.data.AUTOTUNE)
    model = mlp()
    model.compile("sgd", LOSS)
    model.fit(x[0], y[0], verbose=0)
    return timed(lambda: model.fit(data, epochs=2, verbose=0))


@pair
def numpy_map_loop() -> float:
    """Python loops in a parallel map; TensorFlow ops."""

    def tokens(i: int) -> np.ndarray:
        return np.array([hash((int(i), k)) % 1000 for k in range(2000)], np.int64)

    def mapped(i: tf.Tensor) -> tf.Tensor:
        if AFTER:
            return tf.range(2000, dtype=tf.int64) * i % 1000
        return tf.ensure_shape(tf.numpy_function(tokens, [i], tf.int64), (2000,))

    table = tf.Variable(random(1000, 16))
    step = tf.function(lambda ids: tf.reduce_mean(tf.nn.embedding_lookup(table, ids)))
    step(tf.zeros((8, 2000), tf.int64))

    def loop() -> None:
        for ids in tf.data.Dataset.range(640).map(mapped, num_parallel_calls=4).batch(8):
            step(ids)

    return timed(loop)


# ---- callbacks -----------------------------------------------------------------------------------


@pair
def callback_predict() -> float:
    """model.predict after each batch; not at all."""

    class Predict(K.callbacks.Callback):  # type: ignore[misc]  # TensorFlow has no types
        def on_train_batch_end(self, *_: object, **__: object) -> None:
            self.model_of_pair.predict(np.ones((8, 32), np.float32), verbose=0)

    return fitted([] if AFTER else [Predict()], 40)


@pair
def callback_numpy() -> float:
    """NumPy over all weights after each batch; not at all."""

    class Stats(K.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, *_: object, **__: object) -> None:
            weights = self.model_of_pair.trainable_variables
            self.seen = [float(np.abs(each.numpy() ** 3).mean()) for each in weights * 4]

    return fitted([] if AFTER else [Stats()], 300)


@pair
def callback_eager_model() -> float:
    """A loss op by op after every other batch; not at all."""
    probe, truth = tf.ones((16, 32)), tf.zeros(16, tf.int64)

    class Probe(K.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, **_: object) -> None:
            if batch % 2 == 0:
                self.loss = float(LOSS(truth, self.model_of_pair(probe)))

    return fitted([] if AFTER else [Probe()], 150)


@pair
def callback_sleep() -> float:
    """A callback that waits; none."""

    class Slow(K.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, *_: object, **__: object) -> None:
            time.sleep(0.003)

    return fitted([] if AFTER else [Slow()], 200)


# ---- files ---------------------------------------------------------------------------------------


@pair
def model_checkpoint() -> float:
    """ModelCheckpoint after each epoch; none."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "at.weights.h5")
        saver = K.callbacks.ModelCheckpoint(path, save_weights_only=True)
        return fitted([] if AFTER else [saver], 10, epochs=20)


@pair
def manager_each_five() -> float:
    """CheckpointManager.save after five steps; after the last one."""
    model = mlp(128, 256)
    step, x, y = keras_step(model), tf.constant(random(32, 128)), tf.constant(labels(32))
    step(x, y)
    with tempfile.TemporaryDirectory() as folder:
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), folder, 3)
        manager.save()

        def loop() -> None:
            for i in range(100):
                step(x, y)
                if i == 99 or (not AFTER and i % 5 == 4):
                    manager.save()

        return timed(loop)


# ---- types ---------------------------------------------------------------------------------------


@pair
def float64_keras() -> float:
    """Layers in float64; in float32."""
    type_ = "float32" if AFTER else "float64"
    layers = [K.layers.Dense(512, activation="relu", dtype=type_) for _ in range(3)]
    layers = [K.Input((256,), dtype=type_), *layers, K.layers.Dense(1, dtype=type_)]
    model = K.Sequential(layers)
    model.compile("sgd", "mse")
    x, y = random(7680, 256).astype(type_), random(7680, 1).astype(type_)
    model.fit(x[:256], y[:256], batch_size=128, verbose=0)
    return timed(lambda: model.fit(x, y, batch_size=128, verbose=0, epochs=2))


@pair
def float64_conv() -> float:
    """Convolutions in float64; in float32."""
    type_ = tf.float32 if AFTER else tf.float64
    first, second = (tf.cast(random(3, 3, size, 32), type_) for size in (8, 32))

    @tf.function
    def forward(x: tf.Tensor) -> tf.Tensor:
        y = tf.nn.relu(tf.nn.conv2d(x, first, 1, "SAME"))
        return tf.reduce_mean(tf.nn.conv2d(y, second, 1, "SAME"))

    return repeated(forward, 60, tf.cast(tf.ones((8, 32, 32, 8)), type_))


if __name__ == "__main__":
    Path(sys.argv[3]).write_text(json.dumps({"loop_s": PAIRS[sys.argv[1]]()}))
