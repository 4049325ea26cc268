"""A small Keras 3: `tf.keras` of TensorFlow 2.16 and later, with the same layers of the same ops.

It has what Keras 3 does otherwise than Keras 2 (`keras/`), and takes from there what is the same.
In the order in which a program meets it:

    state.py, dtypes.py                 names and scopes; which dtype a result has
    dtype_policies.py                   in which dtype a layer computes
    variables.py                        Keras' own variable
    operation.py, keras_tensor.py       what models are put together from
    ops/                                `keras.ops`: all else is written in terms of these
    random.py, initializers.py, activations.py, regularizers.py
    reduction.py, losses.py, metrics_base.py, metrics.py, confusion_metrics.py
    layers/                             a layer: weights and a computation (base.py first)
    optimizers/                         from gradients to new weights
    models/                             steps.py: the functions of a step; training.py: fit,
                                        evaluate, predict; compiled.py, data.py; the models
    callbacks.py, progress.py           what is told and shown while it trains

A program runs on it if the release that writes the log ships it (`simulate.py`).
"""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras3 import (
    activations,
    backend,
    callbacks,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    models,
    ops,
    optimizers,
    preprocessing,
    random,
    regularizers,
    utils,
)
from tflogscope.runtime.keras3 import dtype_policies as mixed_precision
from tflogscope.runtime.keras3.dtype_policies import DTypePolicy
from tflogscope.runtime.keras3.keras_tensor import KerasTensor
from tflogscope.runtime.keras3.layers.base import Layer
from tflogscope.runtime.keras3.layers.core import Input
from tflogscope.runtime.keras3.models import Model, Sequential
from tflogscope.runtime.keras3.variables import Variable

__version__ = "3.15.1"

__all__ = [
    "DTypePolicy", "Input", "KerasTensor", "Layer", "Model", "Sequential", "Variable",
    "activations", "backend", "callbacks", "constraints", "initializers", "layers", "losses",
    "metrics", "mixed_precision", "models", "ops", "optimizers", "preprocessing", "random",
    "regularizers", "utils",
]  # fmt: skip

__getattr__ = missing("tf.keras")
