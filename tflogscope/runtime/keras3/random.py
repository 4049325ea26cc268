"""Random numbers from a seed that is a tensor: the ops are stateless, the state is a variable.

A layer that draws has a `SeedGenerator`. Its variable holds the seed and how often it was drawn
from.

Told about: `keras/src/random/seed_generator.py`, `keras/src/backend/tensorflow/random.py`.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.backend import floatx
from tflogscope.runtime.keras3 import ops
from tflogscope.runtime.keras3.state import auto_name, name_scope, state
from tflogscope.runtime.keras3.variables import Variable

__all__ = [
    "SeedGenerator", "default_seed", "dropout", "normal", "truncated_normal", "uniform",
]  # fmt: skip


def default_seed() -> int:
    """A seed from Python's own generator, as for all that is not told its seed."""
    return random.randint(1, int(1e9))  # noqa: S311


class SeedGenerator:
    """Seeds that differ from draw to draw."""

    def __init__(self, seed: int | None = None, name: str | None = None) -> None:
        """Raises ValueError for a seed that is no integer."""
        self.name = name or auto_name(type(self).__name__)
        first = default_seed() if seed is None else seed
        if not isinstance(first, int):
            raise ValueError(f"Argument `seed` must be an integer. Received: seed={seed}")

        def initialize(*_: Any, dtype: Any = None) -> Any:
            return ops.convert_to_tensor([first, 0], dtype)

        with name_scope(self.name, caller=self):
            self.state = Variable(
                initialize, shape=(2,), dtype="int64", trainable=False, name="seed_generator_state"
            )

    def next(self, ordered: bool = True) -> Any:
        """The seed for one draw."""
        seed = self.state.value * 1
        if ordered:
            step = ops.convert_to_tensor(np.array([0, 1]), self.state.dtype)
            self.state.assign(ops.add(self.state, step))
        else:
            state: Any = self.state
            self.state.assign((state + 1) * 5387 % 933199)
        return seed


def _drawn(seed: Any) -> Any:
    """The seed of a stateless op: two numbers of 32 bits."""
    if isinstance(seed, SeedGenerator):
        found = seed.next()
    elif isinstance(seed, int):
        found = ops.convert_to_tensor([seed, 0], "int64")
    else:
        if state.seed_generator is None:
            state.seed_generator = SeedGenerator()
        found = state.seed_generator.next(ordered=False)
    return tf.cast(tf.math.floormod(found, tf.int32.max - 1), dtype="int32")


def uniform(
    shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Numbers between two limits."""
    dtype = dtype or floatx()
    drawn = _drawn(seed)
    low, high = tf.cast(minval, dtype), tf.cast(maxval, dtype)
    return tf.random.stateless_uniform(shape, drawn, low, high, dtype)


def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Normally distributed numbers."""
    drawn, dtype = _drawn(seed), dtype or floatx()
    return tf.random.stateless_normal(
        shape=shape, mean=mean, stddev=stddev, dtype=dtype, seed=drawn
    )


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """The same, none beyond two standard deviations."""
    drawn, dtype = _drawn(seed), dtype or floatx()
    return tf.random.stateless_truncated_normal(
        shape=shape, mean=mean, stddev=stddev, dtype=dtype, seed=drawn
    )


def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
    """Inputs, a share `rate` of them set to 0 and the others scaled up."""
    if rate == 1.0:
        return tf.zeros_like(inputs)
    if rate == 0.0:
        return inputs
    drawn = _drawn(seed)
    dims: Any = tf.shape(inputs)
    if noise_shape is not None:
        dims = [dims[i] if each is None else each for i, each in enumerate(noise_shape)]
    return tf.nn.experimental.stateless_dropout(inputs, rate=rate, noise_shape=dims, seed=drawn)


__getattr__ = missing("tf.keras.random")
