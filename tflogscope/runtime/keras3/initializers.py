"""What weights start with: numbers drawn with stateless ops.

Told about: `keras/src/initializers/`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import reduce
from operator import mul
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.backend import unknown
from tflogscope.runtime.keras.initializers import Initializer, fans
from tflogscope.runtime.keras3 import dtypes, ops, random

__all__ = [
    "Constant", "GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "Initializer",
    "LecunNormal", "LecunUniform", "Ones", "Orthogonal", "RandomNormal", "RandomUniform",
    "TruncatedNormal", "VarianceScaling", "Zeros", "get",
    "renewed", "with_fans",
]  # fmt: skip


class Zeros(Initializer):
    """Zeros."""

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return ops.zeros(shape, dtypes.standardize(dtype))


class Ones(Initializer):
    """Ones."""

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return ops.ones(shape, dtypes.standardize(dtype))


class Constant(Initializer):
    """One value everywhere: a product with ones."""

    def __init__(self, value: Any = 0.0) -> None:
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        dtype = dtypes.standardize(dtype)
        return ops.cast(self.value, dtype=dtype) * ops.ones(shape, dtype)


class _Random(Initializer):
    """One that draws; its seed is fixed when it is made."""

    def __init__(self, seed: Any = None) -> None:
        self.given_seed = seed
        self.seed = random.default_seed() if seed is None else seed


def renewed(value: Any) -> Any:
    """A copy of an initializer that draws other numbers, if it was not told its seed; anything else
    as it is.
    """
    if not isinstance(value, _Random) or value.given_seed is not None:
        return value
    made = copy.copy(value)
    made.seed = random.default_seed()
    return made


class RandomUniform(_Random):
    """Between two limits."""

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: Any = None) -> None:
        super().__init__(seed)
        self.minval, self.maxval = minval, maxval

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return random.uniform(shape, self.minval, self.maxval, dtype, self.seed)


class RandomNormal(_Random):
    """Normally distributed."""

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: Any = None) -> None:
        super().__init__(seed)
        self.mean, self.stddev = mean, stddev

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return random.normal(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    """Normally distributed, none beyond two standard deviations."""

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return random.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


class VarianceScaling(_Random):
    """Random numbers whose spread fits the number of inputs or outputs ("fans") of a unit.

    Raises ValueError for an unknown mode or distribution.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: Any = None,
    ) -> None:
        distribution = "truncated_normal" if distribution == "normal" else distribution.lower()
        if mode not in {"fan_in", "fan_out", "fan_avg"}:
            raise ValueError(f"Invalid `mode` argument: {mode}.")
        if distribution not in {"uniform", "truncated_normal", "untruncated_normal"}:
            raise ValueError(f"Invalid `distribution` argument: {distribution}.")
        self.scale, self.mode, self.distribution = scale, mode, distribution
        super().__init__(seed)

    fans: tuple[int, int] | None = None  # if the shape alone doesn't tell

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        fan_in, fan_out = self.fans or fans(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        scale = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return random.uniform(shape, -limit, limit, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            return random.normal(shape, 0.0, math.sqrt(scale), dtype, self.seed)
        stddev = math.sqrt(scale) / 0.87962566103423978  # of a standard normal cut off at ±2
        return random.truncated_normal(shape, 0.0, stddev, dtype, self.seed)


def with_fans(initializer: Any, inputs: int, outputs: int) -> Any:
    """The same initializer, told the numbers of inputs and outputs of a unit."""
    if not isinstance(initializer, VarianceScaling):
        return initializer
    made = copy.copy(initializer)
    made.fans = inputs, outputs
    return made


def _scaled(
    scale: float, mode: str, distribution: str, name: str, text: str
) -> type[VarianceScaling]:
    def made(self: VarianceScaling, seed: Any = None) -> None:
        VarianceScaling.__init__(self, scale, mode, distribution, seed)

    return type(
        name, (VarianceScaling,), {"__init__": made, "__doc__": text, "__module__": __name__}
    )


GlorotUniform = _scaled(
    1.0, "fan_avg", "uniform", "GlorotUniform", "Glorot's, uniform: Keras' default."
)
GlorotNormal = _scaled(1.0, "fan_avg", "truncated_normal", "GlorotNormal", "Glorot's, normal.")
HeUniform = _scaled(2.0, "fan_in", "uniform", "HeUniform", "He's, uniform.")
HeNormal = _scaled(2.0, "fan_in", "truncated_normal", "HeNormal", "He's, normal.")
LecunUniform = _scaled(1.0, "fan_in", "uniform", "LecunUniform", "LeCun's, uniform.")
LecunNormal = _scaled(1.0, "fan_in", "truncated_normal", "LecunNormal", "LeCun's, normal.")


class Orthogonal(_Random):
    """A random matrix with orthogonal rows or columns. Raises ValueError for fewer than two
    dimensions.
    """

    def __init__(self, gain: float = 1.0, seed: Any = None) -> None:
        super().__init__(seed)
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        if len(shape) < 2:
            raise ValueError(
                "The tensor to initialize must be at least two-dimensional. Received: "
                f"shape={shape} of rank {len(shape)}."
            )
        rows, columns = reduce(mul, shape[:-1], 1), shape[-1]
        tall = (max(rows, columns), min(rows, columns))
        orthogonal, triangle = tf.linalg.qr(random.normal(tall, seed=self.seed, dtype=dtype))
        orthogonal *= tf.sign(tf.linalg.diag_part(triangle))  # makes the matrix unique
        if rows < columns:
            orthogonal = tf.transpose(orthogonal)
        return self.gain * ops.reshape(orthogonal, shape)


zeros, ones, constant = Zeros, Ones, Constant
random_uniform = uniform = RandomUniform
random_normal = normal = RandomNormal
truncated_normal = TruncatedNormal
orthogonal = Orthogonal
variance_scaling = VarianceScaling
glorot_uniform, glorot_normal = GlorotUniform, GlorotNormal
he_uniform, he_normal = HeUniform, HeNormal
lecun_uniform, lecun_normal = LecunUniform, LecunNormal


def get(identifier: Any) -> Callable[..., Any] | None:
    """The initializer of that name; a class is instantiated, a function is taken as it is.

    Raises ValueError for what is none.
    """
    if identifier is None:
        return None
    if isinstance(identifier, str):
        found = globals().get(identifier)
        if not (isinstance(found, type) and issubclass(found, Initializer)):
            raise ValueError(unknown("initializer", identifier))
        return found()
    if isinstance(identifier, type):
        return identifier()  # type: ignore[no-any-return]
    if callable(identifier):
        return identifier  # type: ignore[no-any-return]
    raise ValueError(f"Could not interpret initializer identifier: {identifier}")


__getattr__ = missing("tf.keras.initializers")
