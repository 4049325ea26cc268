"""What variables start with: `tf.zeros_initializer`, `tf.random_normal_initializer` and others.

Keras has its own (`keras/initializers.py`). Told about: `python/ops/init_ops_v2.py`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.conversion import constant
from tflogscope.runtime.dtypes import as_dtype
from tflogscope.runtime.library import arrays, random
from tflogscope.runtime.tensors import Tensor

__all__ = [
    "ConstantInitializer",
    "Ones",
    "RandomNormal",
    "RandomUniform",
    "Zeros",
]


class Zeros:
    """Zeros."""

    def __call__(self, shape: Any, dtype: Any = dtypes.float32, **kwargs: Any) -> Tensor:
        """A tensor of that shape."""
        del kwargs
        return arrays.zeros(shape, as_dtype(dtype))


class Ones:
    """Ones."""

    def __call__(self, shape: Any, dtype: Any = dtypes.float32, **kwargs: Any) -> Tensor:
        """A tensor of that shape."""
        del kwargs
        return arrays.ones(shape, as_dtype(dtype))


class ConstantInitializer:
    """Always this value, or these values."""

    def __init__(self, value: Any = 0, support_partition: bool = False) -> None:
        del support_partition
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        """A tensor of that shape. Raises TypeError if the values do not fill it."""
        del kwargs
        return constant(self.value, None if dtype is None else as_dtype(dtype), shape)


class RandomNormal:
    """Numbers around a mean. With a seed each call gives the same ones."""

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32, **kwargs: Any) -> Tensor:
        """A tensor of that shape. Raises ValueError unless the dtype is a float."""
        del kwargs
        dtype = _float(dtype)
        if self.seed:  # NB: 0 is no seed here
            return random.stateless_normal(shape, [self.seed, 0], self.mean, self.stddev, dtype)  # type: ignore[no-any-return]
        return random.normal(shape, self.mean, self.stddev, dtype)  # type: ignore[no-any-return]


class RandomUniform:
    """Numbers of a range, each as likely. With a seed each call gives the same ones."""

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32, **kwargs: Any) -> Tensor:
        """A tensor of that shape. Raises ValueError unless the dtype is a float or an integer."""
        del kwargs
        dtype = as_dtype(dtype)
        if not (dtype.is_floating or dtype.is_integer):
            raise ValueError(f"Argument `dtype` expected to be numeric. Received {dtype}.")
        if self.seed:
            return random.stateless_uniform(shape, [self.seed, 0], self.minval, self.maxval, dtype)
        return random.uniform(shape, self.minval, self.maxval, dtype)


def _float(dtype: Any) -> Any:
    dtype = as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"Argument `dtype` expected to be numeric or boolean. Received {dtype}.")
    return dtype
