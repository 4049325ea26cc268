"""What TensorFlow 1's variables start with: drawn by stateful ops, whose seed is the initializer's.

Told about: `python/ops/init_ops.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime.dtypes import float32
from tflogscope.runtime.library import random
from tflogscope.runtime.tensors import Tensor

__all__ = [
    "glorot_normal", "glorot_uniform", "random_normal", "random_uniform", "truncated_normal",
]  # fmt: skip

Initializer = Callable[..., Tensor]


def _drawn(draw: Callable[..., Any], first: Any, second: Any, seed: int | None) -> Initializer:
    def initializer(shape: Sequence[int], dtype: Any = float32, **_: Any) -> Tensor:
        tensor: Tensor = draw(shape, first, second, dtype, seed)
        return tensor

    return initializer


def random_normal(mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None) -> Initializer:
    """Numbers around a mean."""
    return _drawn(random.normal, mean, stddev, seed)


def truncated_normal(mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None) -> Initializer:
    """Numbers around a mean, none far away."""
    return _drawn(random.truncated_normal, mean, stddev, seed)


def random_uniform(minval: Any = 0.0, maxval: Any = 1.0, seed: int | None = None) -> Initializer:
    """Numbers of a range, each as likely."""
    return _drawn(random.uniform, minval, maxval, seed)


def glorot_uniform(seed: int | None = None) -> Initializer:
    """As wide as inputs and outputs together say."""

    def initializer(shape: Sequence[int], dtype: Any = float32, **_: Any) -> Tensor:
        limit = math.sqrt(6.0 / _fans(shape))
        return random.uniform(shape, -limit, limit, dtype, seed)

    return initializer


def glorot_normal(seed: int | None = None) -> Initializer:
    """The same with a normal distribution that is cut off, which makes it narrower."""

    def initializer(shape: Sequence[int], dtype: Any = float32, **_: Any) -> Tensor:
        stddev = math.sqrt(2.0 / _fans(shape)) / 0.87962566103423978
        tensor: Tensor = random.truncated_normal(shape, 0.0, stddev, dtype, seed)
        return tensor

    return initializer


def _fans(shape: Sequence[int]) -> float:
    """How many inputs and outputs a unit has, together."""
    if len(shape) < 2:
        return max(2.0, 2.0 * (list(shape) or [1])[0])
    window = math.prod(shape[:-2])
    return max(2.0, window * shape[-2] + window * shape[-1])
