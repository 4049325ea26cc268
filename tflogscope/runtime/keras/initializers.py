"""First values of weights, and the draws of Keras: a seed per initializer, drawn when it is made."""

from __future__ import annotations

import math
import random as python_random
from typing import Any

from tflogscope.runtime.core import errors
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import as_dtype, int32, int64
from tflogscope.runtime.keras.state import floatx, found, keras3, snake_case
from tflogscope.runtime.library import arrays, random
from tflogscope.runtime.library.matrices import diag_part, matrix_transpose

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


class _Initializer:
    """Gives the first value of a weight. The arguments of a kind are its attributes, with defaults."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = [n for kind in type(self).__mro__[::-1] for n in vars(kind).get("options", ())]
        given = dict(zip(names, args, strict=False)) | kwargs
        vars(self).update(given)
        if getattr(self, "seed", 0) is None:
            self.seed = default_seed()

    def __getattr__(self, name: str) -> Any:
        return errors.missing(f"tf.keras.initializers.{type(self).__name__}", name)


class Zeros(_Initializer):
    """All 0."""

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return arrays.zeros(shape, dtype or floatx())


class Ones(_Initializer):
    """All 1."""

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return arrays.ones(shape, dtype or floatx())


class Constant(_Initializer):
    """All the same number."""

    options = ("value",)
    value: Any = 0.0

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        if keras3():
            return arrays.cast(self.value, as_dtype(dtype or floatx())) * arrays.ones(shape, dtype)
        return constant(self.value, dtype or floatx(), shape)


class _Random(_Initializer):
    """Draws: `first` and `second` are the limits, or mean and deviation."""

    seed: Any = None

    def _draw(self, kind: str, shape: Any, first: float, second: float, dtype: Any) -> Any:
        draw = getattr(random, f"stateless_{kind}")
        dtype = as_dtype(dtype or floatx())
        seed = stateless_seed(self.seed)
        if keras3() and kind == "uniform":
            first, second = arrays.cast(first, dtype), arrays.cast(second, dtype)
        return draw(shape, seed, first, second, dtype)


class RandomUniform(_Random):
    """Uniform between two limits."""

    options = ("minval", "maxval", "seed")
    minval: float = -0.05
    maxval: float = 0.05

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return self._draw("uniform", shape, self.minval, self.maxval, dtype)


class RandomNormal(_Random):
    """Normal."""

    options = ("mean", "stddev", "seed")
    mean: float = 0.0
    stddev: float = 0.05
    kind = "normal"

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return self._draw(self.kind, shape, self.mean, self.stddev, dtype)


class TruncatedNormal(RandomNormal):
    """Normal, within two deviations."""

    kind = "truncated_normal"


class VarianceScaling(_Random):
    """Scaled by how many numbers go in and out of the layer."""

    options = ("scale", "mode", "distribution", "seed")
    scale: float = 1.0
    mode = "fan_in"
    distribution = "truncated_normal"

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        window = math.prod(shape[:-2])
        ins, outs = (shape[-2] * window, shape[-1] * window) if len(shape) > 1 else [shape[0]] * 2
        fan = {"fan_in": ins, "fan_out": outs, "fan_avg": (ins + outs) / 2.0}[self.mode]
        scale = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return self._draw("uniform", shape, -limit, limit, dtype)
        stddev = math.sqrt(scale) / 0.87962566103423978  # of a standard normal cut off at ±2
        return self._draw("truncated_normal", shape, 0.0, stddev, dtype)


class Orthogonal(_Random):
    """An orthogonal matrix."""

    options = ("gain", "seed")
    gain: float = 1.0

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        rows, columns = math.prod(shape[:-1]), shape[-1]
        tall = (max(rows, columns), min(rows, columns))
        drawn = self._draw("normal", tall, 0.0, 1.0, dtype)
        orthogonal, triangle = O.Qr(drawn)
        orthogonal *= O.Sign(diag_part(triangle))  # makes the matrix unique
        if rows < columns:
            orthogonal = matrix_transpose(orthogonal)
        return self.gain * arrays.reshape(orthogonal, shape)


def _scaled(name: str, scale: float, mode: str, distribution: str) -> type[VarianceScaling]:
    body = {"scale": scale, "mode": mode, "distribution": distribution, "options": ("seed",)}
    return type(name, (VarianceScaling,), body)


_KINDS: list[type[_Initializer]] = [
    Zeros, Ones, Constant, RandomUniform, RandomNormal, TruncatedNormal, VarianceScaling, Orthogonal,
    *(_scaled(f"{name}{kind}", scale, mode, distribution)
      for name, scale, mode in (
          ("Glorot", 1.0, "fan_avg"), ("He", 2.0, "fan_in"), ("Lecun", 1.0, "fan_in"))
      for kind, distribution in (("Uniform", "uniform"), ("Normal", "truncated_normal"))),
]  # fmt: skip
CLASSES = {kind.__name__: kind for kind in _KINDS}


_TABLE = CLASSES | {snake_case(name): kind for name, kind in CLASSES.items()}
_TABLE |= {"uniform": RandomUniform, "normal": RandomNormal}


def get(identifier: Any) -> Any:
    return found(identifier, _TABLE, "initializer")
