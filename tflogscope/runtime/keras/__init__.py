"""A small Keras: `tf.keras` of TensorFlow 2.13, with the same layers of the same ops.

In the order in which a program meets them:

    initializers.py, activations.py     what weights start with; functions by name
    mixed_precision.py, autocast.py     in which dtype a layer computes; weights read in it
    layers/                             a layer: weights and a computation (base.py first)
    keras_tensor.py                     what layers are called on when a model is put together
    models/                             Sequential, functional and subclassed models;
                                        network.py orders their layers
    loss_functions.py, losses.py, metrics_base.py, metrics.py, confusion_metrics.py,
    bounded_metrics.py, f_score_metrics.py
                                        numbers for how good it is;
                                        reduction.py makes one of one per example
    regularizers.py, constraints.py     what weights should be like
    optimizers/                         from gradients to new weights
    models/compiled.py, steps.py        what is compiled; one step
    models/training.py                  fit, evaluate, predict; data_adapter.py makes batches,
                                        generated_batches.py those of generators
    timeseries.py                       a dataset of windows over rows
    callbacks.py, progress.py           what is told and shown while it trains
    configuring.py, saving.py           what an object was made with, and how to make it again

It is written in terms of `tf`, as Keras is: nothing here knows how an op is executed.
"""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras import (
    activations,
    backend,
    callbacks,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    mixed_precision,
    models,
    optimizers,
    preprocessing,
    regularizers,
    saving,
    utils,
)
from tflogscope.runtime.keras.keras_tensor import Input
from tflogscope.runtime.keras.models import Model, Sequential

__version__ = "2.13.1"

__all__ = [
    "Input", "Model", "Sequential", "activations", "backend", "callbacks", "constraints",
    "initializers", "layers", "losses", "metrics", "mixed_precision", "models", "optimizers",
    "preprocessing", "regularizers", "saving", "utils",
]  # fmt: skip

__getattr__ = missing("tf.keras")
