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

_source = python_random.Random()  # noqa: S311 - seeds weights


def seed_draws(seed: int) -> None:
    _source.seed(seed)


def default_seed() -> int:
    return _source.randint(1, int(1e9))


def stateless_seed(seed: Any) -> Any:
    if not keras3():
        return [seed, 0]
    if isinstance(seed, int):
        seed = convert_to_tensor([seed, 0], int64)
    return arrays.cast(O.FloorMod(seed, int32.max - 1), int32)


class Initializer(Configured):
    """Called with a shape and a dtype it gives the first value of a weight."""

    where = "tf.keras.initializers."
    options = {"seed": None}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.configure(args, kwargs)

    def read(self, name: str, value: Any) -> Any:
        return default_seed() if name == "seed" and value is None else value


class Zeros(Initializer):
    """All 0."""

    options = {}

    def __call__(self, shape: Any, dtype: Any = float32) -> Any:
        return arrays.zeros(shape, dtype)


class Ones(Zeros):
    """All 1."""

    def __call__(self, shape: Any, dtype: Any = float32) -> Any:
        return arrays.ones(shape, dtype)


class RandomUniform(Initializer):
    """Uniform between two limits."""

    options = {"minval": -0.05, "maxval": 0.05, "seed": None}

    def __call__(self, shape: Any, dtype: Any = float32) -> Any:
        seed = stateless_seed(self.seed)
        return random.stateless_uniform(shape, seed, self.minval, self.maxval, dtype)


class _Scaled(Initializer):
    """Scaled by how many numbers go in and out of the layer: `VarianceScaling`."""

    scale: float
    mode: str
    distribution: str

    def __call__(self, shape: Any, dtype: Any = float32) -> Any:
        window = math.prod(shape[:-2])
        ins, outs = (shape[-2] * window, shape[-1] * window) if len(shape) > 1 else [shape[0]] * 2
        scale = self.scale / max(1.0, ins if self.mode == "fan_in" else (ins + outs) / 2.0)
        seed = stateless_seed(self.seed)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return random.stateless_uniform(shape, seed, -limit, limit, dtype)
        stddev = math.sqrt(scale) / 0.87962566103423978  # of a standard normal cut off at ±2
        return random.stateless_truncated_normal(shape, seed, 0.0, stddev, dtype)


_SCALED = {"Glorot": (1.0, "fan_avg"), "He": (2.0, "fan_in")}
_KINDS: list[type[Initializer]] = [
    Zeros, Ones, RandomUniform,
    *(type(f"{name}{kind}", (_Scaled,),
           {"scale": scale, "mode": mode, "distribution": kind.lower(), "__module__": __name__})
      for name, (scale, mode) in _SCALED.items() for kind in ("Uniform", "Normal")),
]  # fmt: skip
CLASSES = {kind.__name__: kind for kind in _KINDS}
_BY_NAME = CLASSES | {snake_case(name): kind for name, kind in CLASSES.items()}
_BY_NAME["uniform"] = RandomUniform


def get(identifier: Any) -> Any:
    return found(identifier, _BY_NAME, "initializer")
