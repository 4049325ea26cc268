"""Programs whose costs are known: run them with TensorFlow, with and without a log.

    python program.py KIND OUT.json [profile]

OUT.json gets the program's own clock, and with `profile` what TensorFlow's profiler finds by kernel
in a run that writes no log: µs for each step. tests/costs holds what came of it.
"""

from __future__ import annotations

import glob
import importlib
import json
import os
import sys
import tempfile
import time

import numpy as np
import tensorflow as tf

STEPS = int(os.environ.get("STEPS", "20"))
NO_KERNELS = {
    "Process",
    "ScheduleReady",
    "CreateIterationState",
    "MemoryAllocation",
    "MemoryDeallocation",
}
RNG = np.random.RandomState(0)


def trained(layers, x, classes=10):
    """A training step of a Keras model, as a function."""
    model = tf.keras.Sequential(layers)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    x, y = tf.constant(x.astype("f")), tf.constant(RNG.randint(0, classes, len(x)))

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        for variable, gradient in zip(model.trainable_variables, gradients):
            variable.assign_sub(0.01 * gradient)
        return loss

    return lambda: train_step(x, y)


def mlp():
    dense = tf.keras.layers.Dense
    layers = [dense(64, activation="relu"), dense(32, activation="relu"), dense(10)]
    return trained(layers, RNG.rand(32, 32))


def wide():
    dense = tf.keras.layers.Dense
    layers = [dense(1024, activation="relu"), dense(512, activation="tanh"), dense(10)]
    return trained(layers, RNG.rand(64, 256))


def loop():
    weights = tf.Variable(RNG.rand(64, 64).astype("f") / 64)
    x = tf.constant(RNG.rand(64, 64).astype("f"))

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            for _ in tf.range(25):
                x = tf.nn.tanh(tf.matmul(x, weights)) + 0.1
            loss = tf.reduce_sum(x)
        weights.assign_sub(0.001 * tape.gradient(loss, weights))
        return loss

    return lambda: train_step(x)


def eager():
    weights = tf.Variable(RNG.rand(256, 256).astype("f"))
    x = tf.constant(RNG.rand(64, 256).astype("f"))

    def step():
        for _ in range(5):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.nn.relu(tf.matmul(x, weights)) - 1.0))
            weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    return step


def xspace():
    """The message of a profile, which has moved from release to release."""
    for name in ("tensorflow.tsl", "tensorflow.core", "tsl", "xprof"):
        try:
            return importlib.import_module(f"{name}.profiler.protobuf.xplane_pb2").XSpace()
        except ImportError:
            continue


def profiled(step):
    """µs a step by kernel, of the profiler's events that belong to an op."""
    options = tf.profiler.experimental.ProfilerOptions(3, 0, 0)
    folder = tempfile.mkdtemp()
    tf.profiler.experimental.start(folder, options=options)
    for _ in range(STEPS):
        np.asarray(step())
    tf.profiler.experimental.stop()
    space, found = xspace(), {}
    for path in glob.glob(folder + "/**/*.xplane.pb", recursive=True):
        space.ParseFromString(open(path, "rb").read())
    for plane in space.planes:
        for line in plane.lines:
            for event in line.events:
                name = plane.event_metadata[event.metadata_id].name
                kind = name.rpartition(":")[2]
                if kind.isidentifier() and not kind[0].islower() and kind not in NO_KERNELS:
                    if ":" in name or kind == "Run":
                        found[kind] = found.get(kind, 0.0) + event.duration_ps / 1e6 / STEPS
    return {kernel: round(us, 3) for kernel, us in sorted(found.items())}


def main(kind, out, *rest):
    step = {"mlp": mlp, "wide": wide, "loop": loop, "eager": eager}[kind]()
    for _ in range(6):
        np.asarray(step())
    times = []
    for _ in range(STEPS):
        began = time.perf_counter()
        np.asarray(step())
        times.append(time.perf_counter() - began)
    said = {
        "tensorflow": tf.__version__,
        "calls": 6 + STEPS,
        "step_us": round(1e6 * sorted(times)[STEPS // 2]),
    }
    if rest:
        said["kernels_us"] = profiled(step)
    with open(out, "w") as file:
        json.dump(said, file, indent=1)


main(*sys.argv[1:])
