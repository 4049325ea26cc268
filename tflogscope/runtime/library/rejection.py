"""Random numbers of gamma and Poisson distributions.

Told about: `python/ops/random_ops.py`, `python/ops/stateless_random_ops.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import as_dtype
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.random import key_and_counter, shape_tensor
from tflogscope.runtime.library.seeds import get_seed
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.tensors import Tensor

__all__ = ["gamma", "poisson", "stateless_gamma", "stateless_poisson"]


def gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """So many numbers for each `alpha` and inverse scale `beta`."""
    with op_scope(name, "random_gamma"):
        shape = convert_to_tensor(shape, name="shape", dtype=dtypes.int32)
        alpha, beta = _parameters(alpha, beta, dtype)
        seed1, seed2 = get_seed(seed)
        drawn = call("RandomGamma", shape, alpha, seed=seed1 or 0, seed2=seed2 or 0)
        return _scaled(drawn, beta)


def stateless_gamma(
    shape: Any,
    seed: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The same, always the same for a seed; the last dimensions of `shape` are those of `alpha`."""
    with op_scope(name, "stateless_random_gamma"):
        shape = shape_tensor(shape)
        alpha, beta = _parameters(alpha, beta, dtype)
        key, counter = key_and_counter(seed)
        return _scaled(call("StatelessRandomGammaV3", shape, key, counter, 3, alpha), beta)


def _parameters(alpha: Any, beta: Any, dtype: Any) -> tuple[Any, Any]:
    alpha = convert_to_tensor(alpha, name="alpha", dtype=dtype)
    beta = convert_to_tensor(1 if beta is None else beta, name="beta", dtype=dtype)
    common = arrays.broadcast_dynamic_shape(arrays.shape(alpha), arrays.shape(beta))
    return arrays.broadcast_to(alpha, common), beta


def _scaled(drawn: Any, beta: Any) -> Tensor:
    least = np.finfo(drawn.dtype.as_numpy_dtype).tiny
    result: Tensor = call("Maximum", least, drawn / beta)
    return result


def poisson(
    shape: Any,
    lam: Any,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """So many numbers for each rate `lam`."""
    with op_scope(name, "random_poisson"):
        shape = convert_to_tensor(shape, name="shape", dtype=dtypes.int32)
        seed1, seed2 = get_seed(seed)
        seeds: dict[str, Any] = {"seed": seed1 or 0, "seed2": seed2 or 0}
        return call("RandomPoissonV2", shape, lam, dtype=as_dtype(dtype), **seeds)


def stateless_poisson(
    shape: Any, seed: Any, lam: Any, dtype: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """The same, always the same for a seed; the last dimensions of `shape` are those of `lam`."""
    with op_scope(name, "stateless_random_poisson"):
        shape = shape_tensor(shape)
        return call("StatelessRandomPoisson", shape, seed, lam, dtype=as_dtype(dtype))
