"""What weights start with.

Told about: `keras/src/initializers/initializers.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from operator import mul
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras import backend
from tflogscope.runtime.keras.configuring import Configured, deserialize, serialize

__all__ = [
    "Constant", "GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "Identity", "Initializer",
    "LecunNormal", "LecunUniform", "Ones", "Orthogonal", "RandomNormal", "RandomUniform",
    "TruncatedNormal", "VarianceScaling", "Zeros", "get", "serialize",
]  # fmt: skip


class Initializer(Configured):
    """A function of shape and dtype that gives a tensor. Users may subclass it."""

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Any:
        """A tensor of that shape."""
        raise NotImplementedError("Initializer subclasses must implement the `__call__()` method.")


class Zeros(Initializer):
    """Zeros."""

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return tf.zeros(shape, _dtype(dtype))


class Ones(Initializer):
    """Ones."""

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return tf.ones(shape, _dtype(dtype))


class Constant(Initializer):
    """One value everywhere."""

    def __init__(self, value: Any = 0) -> None:
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return tf.constant(self.value, dtype=_dtype(dtype), shape=shape)


class Identity(Initializer):
    """The identity matrix, scaled."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        rows, columns = shape
        return self.gain * tf.eye(rows, columns, dtype=_float(dtype))


class _Random(Initializer):
    """One that draws: `seed` makes it the same in each run."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed
        self._generator = backend.RandomGenerator(seed, stateless=True)


class RandomUniform(_Random):
    """Between two limits."""

    def __init__(
        self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None
    ) -> None:
        super().__init__(seed)
        self.minval, self.maxval = minval, maxval

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return self._generator.uniform(shape, self.minval, self.maxval, _dtype(dtype))


class RandomNormal(_Random):
    """Normally distributed."""

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        super().__init__(seed)
        self.mean, self.stddev = mean, stddev

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return self._generator.normal(shape, self.mean, self.stddev, _float(dtype))


class TruncatedNormal(RandomNormal):
    """Normally distributed, none beyond two standard deviations."""

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return self._generator.truncated_normal(shape, self.mean, self.stddev, _float(dtype))


class VarianceScaling(_Random):
    """Random numbers whose spread fits the number of inputs or outputs ("fans") of a unit.

    Raises ValueError for an unknown mode or distribution.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        distribution = "truncated_normal" if distribution == "normal" else distribution.lower()
        if mode not in {"fan_in", "fan_out", "fan_avg"}:
            raise ValueError(f"Invalid `mode` argument: {mode}.")
        if distribution not in {"uniform", "truncated_normal", "untruncated_normal"}:
            raise ValueError(f"Invalid `distribution` argument: {distribution}.")
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
        fan_in, fan_out = fans(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        scale = self.scale / max(1.0, fan)
        dtype = _float(dtype)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return self._generator.uniform(shape, -limit, limit, dtype)
        if self.distribution == "untruncated_normal":
            return self._generator.normal(shape, 0.0, math.sqrt(scale), dtype)
        stddev = math.sqrt(scale) / 0.87962566103423978  # of a standard normal cut off at ±2
        return self._generator.truncated_normal(shape, 0.0, stddev, dtype)


def _scaled(
    scale: float, mode: str, distribution: str, name: str, text: str
) -> type[VarianceScaling]:
    def made(self: VarianceScaling, seed: int | None = None) -> None:
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

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
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
        orthogonal, triangle = tf.linalg.qr(
            self._generator.normal(tall, 0.0, 1.0, _float(dtype)), full_matrices=False
        )
        orthogonal *= tf.sign(tf.linalg.tensor_diag_part(triangle))  # makes the matrix unique
        if rows < columns:
            orthogonal = tf.linalg.matrix_transpose(orthogonal)
        return self.gain * tf.reshape(orthogonal, shape)


zeros, ones, constant, identity = Zeros, Ones, Constant, Identity
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
    identifier = deserialize(identifier, globals().get, "initializer")
    if identifier is None:
        return None
    if isinstance(identifier, str):
        found = globals().get(identifier)
        if not (isinstance(found, type) and issubclass(found, Initializer)):
            raise ValueError(backend.unknown("initializer", identifier))
        return found()
    if isinstance(identifier, type):
        return identifier()  # type: ignore[no-any-return]
    if callable(identifier):
        return identifier  # type: ignore[no-any-return]
    raise ValueError(f"Could not interpret initializer identifier: {identifier}")


def _dtype(dtype: Any) -> Any:
    return tf.as_dtype(backend.floatx() if dtype is None else dtype)


def _float(dtype: Any) -> Any:
    found = _dtype(dtype)
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found}.")
    return found


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """How many inputs and outputs a unit has; for convolutions, times the size of the window."""
    if len(shape) < 2:
        size = shape[0] if len(shape) else 1
        return int(size), int(size)
    window = reduce(mul, shape[:-2], 1)
    return int(shape[-2] * window), int(shape[-1] * window)


__getattr__ = missing("tf.keras.initializers")
