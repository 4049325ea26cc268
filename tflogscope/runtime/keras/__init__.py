"""Keras, once: layers, losses, metrics, optimizers and training over a few primitives, each with the
recipe of Keras 2 and that of Keras 3, which releases since 2.16 have. state.py is what all share;
initializers and primitives come next, then layers, losses, metrics and optimizers, and at last
batches, training and models.
"""

from __future__ import annotations

import random as python_random
from typing import Any

import numpy as np

from tflogscope.runtime.keras import (
    initializers,
    losses,
    metrics,
    models,
    optimizers,
    primitives,
    state,
    training,
)
from tflogscope.runtime.keras.layers import base, core, recurrent, windows
from tflogscope.runtime.library import random

__all__ = ["namespace"]


def set_random_seed(seed: int) -> None:
    python_random.seed(seed)
    np.random.seed(seed)
    random.set_seed(seed)
    initializers.SEEDS.seed(seed)


def _public(module: Any, kind: type[Any]) -> dict[str, Any]:
    found = {n: each for n, each in vars(module).items() if isinstance(each, type)}
    return {n: each for n, each in found.items() if issubclass(each, kind) and n[0] != "_"}


def _layers() -> dict[str, Any]:
    found: dict[str, Any] = {"Layer": base.Layer, "Input": core.Input}
    for module in (core, windows, recurrent):
        found |= _public(module, base.Layer)
    return found | {"MaxPool2D": windows.MaxPooling2D}


def namespace(version: str) -> dict[str, dict[str, Any]]:
    """The modules of `keras.`, by their dotted names; "" is `keras` itself."""
    layers = _layers()
    shared = {"Model": models.Model, "Sequential": models.Sequential, "Input": core.Input}
    modules: dict[str, dict[str, Any]] = {
        "layers": layers,
        "models": shared,
        "activations": {**primitives.ACTIVATIONS, "get": primitives.activation},
        "initializers": {**initializers.CLASSES, "get": initializers.get},
        "losses": {
            **losses.CLASSES,
            **losses.FUNCTIONS,
            **losses.SHORT,
            "Loss": losses.Loss,
            "get": losses.get,
        },
        "metrics": {**metrics.CLASSES, **losses.FUNCTIONS, "Metric": metrics.Metric},
        "optimizers": {**optimizers.CLASSES, "Optimizer": optimizers.Optimizer},
        "callbacks": _public(training, training.Callback),
        "utils": {"set_random_seed": set_random_seed},
        "backend": {"clear_session": state.clear_session},
    }
    return {
        "": {**shared, "layers": layers, "Layer": base.Layer, "__version__": version},
        **modules,
    }
