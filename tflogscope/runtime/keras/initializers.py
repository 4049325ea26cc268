"""First values of weights, and the draws of Keras: a seed per initializer, drawn when it is made. See
`keras/initializers/initializers.py` of Keras 2, `random_initializers.py` of Keras 3.
"""

from __future__ import annotations

import math
import random as python_random
from typing import Any

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import float32, int32, int64
from tflogscope.runtime.keras.state import Configured, found, keras3, snake_case
from tflogscope.runtime.library import arrays, random

SEEDS = python_random.Random()  # noqa: S311 - seeds weights


def _stateless_seed(seed: int) -> Any:
    if not keras3():
        return [seed, 0]
    return arrays.cast(O.FloorMod(convert_to_tensor([seed, 0], int64), int32.max - 1), int32)


class Initializer(Configured):
    """Called with a shape and a dtype it gives the first value of a weight."""

    where = "tf.keras.initializers."

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.configure(args, kwargs)

    def read(self, name: str, value: Any) -> Any:
        return SEEDS.randint(1, int(1e9)) if name == "seed" and value is None else value


def _filled(fill: Any) -> Any:
    return lambda self, shape, dtype=float32: fill(shape, dtype)


def _uniform(self: Any, shape: Any, dtype: Any = float32) -> Any:
    seed = _stateless_seed(self.seed)
    return random.stateless_uniform(shape, seed, self.minval, self.maxval, dtype)


def _scaled(scale: float, mode: str, distribution: str) -> Any:
    """By how many numbers go in and out of the layer: `VarianceScaling`."""

    def draw(self: Any, shape: Any, dtype: Any = float32) -> Any:
        window = math.prod(shape[:-2])
        ins, outs = (shape[-2] * window, shape[-1] * window) if len(shape) > 1 else [shape[0]] * 2
        share = scale / max(1.0, ins if mode == "fan_in" else (ins + outs) / 2.0)
        seed = _stateless_seed(self.seed)
        if distribution == "uniform":
            limit = math.sqrt(3.0 * share)
            return random.stateless_uniform(shape, seed, -limit, limit, dtype)
        stddev = math.sqrt(share) / 0.87962566103423978  # of a standard normal cut off at ±2
        return random.stateless_truncated_normal(shape, seed, 0.0, stddev, dtype)

    return draw


_LIMITS = {"minval": -0.05, "maxval": 0.05, "seed": None}
_TABLE: dict[str, tuple[Any, dict[str, Any]]] = {
    "Zeros": (_filled(arrays.zeros), {}),
    "Ones": (_filled(arrays.ones), {}),
    "RandomUniform": (_uniform, _LIMITS),
    "GlorotUniform": (_scaled(1.0, "fan_avg", "uniform"), {"seed": None}),
    "GlorotNormal": (_scaled(1.0, "fan_avg", "normal"), {"seed": None}),
    "HeUniform": (_scaled(2.0, "fan_in", "uniform"), {"seed": None}),
    "HeNormal": (_scaled(2.0, "fan_in", "normal"), {"seed": None}),
}
CLASSES: dict[str, type[Initializer]] = {
    name: type(name, (Initializer,), {"__call__": draw, "options": options, "__module__": __name__})
    for name, (draw, options) in _TABLE.items()
}
_BY_NAME = CLASSES | {snake_case(name): kind for name, kind in CLASSES.items()}
_BY_NAME["uniform"] = CLASSES["RandomUniform"]


def get(identifier: Any) -> Any:
    return found(identifier, _BY_NAME, "initializer")
