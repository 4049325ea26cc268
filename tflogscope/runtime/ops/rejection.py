"""Random numbers by rejection: those of gamma and Poisson distributions. How many numbers of the
stream one needs is chance, so each has 256 groups of the stream to itself.

Told about: `core/kernels/random_op.cc` (`RandomGammaOp`), `random_poisson_op.cc`,
`stateless_random_gamma_op.cc`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime import dtypes
from tflogscope.runtime.constant_value import constant_shape
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.gradients import not_differentiable
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.ops.philox import Philox, normal, uniform
from tflogscope.runtime.ops.random import Stateful, generator_at, generator_of_seed
from tflogscope.runtime.shapes import TensorShape

Array = NDArray[Any]
_RESERVED = 256


def _drawn(
    generator: Philox, distribution: Callable[[Philox, int, DType], Array]
) -> Iterator[float]:
    """The numbers one by one: two come from a group of four, and the second is used first."""
    while True:
        first, second = distribution(generator, 2, dtypes.float64)
        generator.skip(1)
        yield float(second)
        yield float(first)


def _gamma(alpha: float, generator: Philox) -> float:
    """One number: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000)."""
    # One generator is behind both: who runs out takes the next group.
    uniforms, normals = _drawn(generator, uniform), _drawn(generator, normal)
    if alpha == 1.0:
        return -math.log1p(-next(uniforms))
    d = alpha + (2.0 / 3 if alpha < 1 else -1.0 / 3)
    c = 1.0 / 3 / math.sqrt(d)
    while True:
        x = next(normals)
        v = 1 + c * x
        if v <= 0:
            continue
        v = v * v * v
        u = next(uniforms)
        squeezed = u < 1 - 0.0331 * (x * x) * (x * x)
        if squeezed or math.log(u) < 0.5 * x * x + d * (1 - v + math.log(v)):
            return d * v * (next(uniforms) ** (1 / alpha) if alpha < 1 else 1.0)


def _poisson(rate: float, generator: Philox) -> float:
    """One number: Knuth's way for small rates, else Hörmann's "The transformed rejection method for
    generating Poisson random variables" (1993).
    """
    uniforms = _drawn(generator, uniform)
    if rate < 10:
        limit, product, count = math.exp(-rate), next(uniforms), 0
        while product > limit:
            product *= next(uniforms)
            count += 1
        return count
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    while True:
        u = next(uniforms) - 0.5
        v = next(uniforms)
        shifted = 0.5 - abs(u)
        k = math.floor((2 * a / shifted + b) * u + rate + 0.43)
        if shifted >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k < 0 or (shifted < 0.013 and v > shifted):
            continue
        accepted = math.log(v * inverse_alpha / (a / (shifted * shifted) + b))
        if accepted <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return k


def _samples(
    one: Callable[[float, Philox], float], generator: Philox, shape: Any, parameters: Array
) -> Array:
    """The samples of each parameter: the last dimensions are those of the parameters."""
    flat = parameters.reshape(-1)
    each = math.prod(shape) // max(flat.size, 1)
    found = np.zeros((each, flat.size))
    for place in range(found.size):
        at = Philox(generator.counter, generator.key)
        at.skip(_RESERVED * place)
        which = place // each
        found[place % each, which] = one(float(flat[which]), at)
    return found.reshape(tuple(shape))


def _stateful(one: Callable[[float, Philox], float], dtype: str) -> Stateful:
    def draw(
        generator: Philox, attributes: dict[str, Any], shape: Array, parameters: Array
    ) -> Array:
        whole = [*map(int, shape), *parameters.shape]
        reserved = generator.reserve(math.prod(whole) * _RESERVED)
        wanted = parameters.dtype if dtype not in attributes else attributes[dtype].as_numpy_dtype
        return _samples(one, reserved, whole, parameters).astype(wanted)

    return Stateful(draw)


def _shape(i: Inference) -> TensorShape:
    return constant_shape(i.inputs[0]).concatenate(i.shape(1))


def _given_shape(i: Inference) -> TensorShape:
    return constant_shape(i.inputs[0])


op("RandomGamma(shape: S, alpha: T; seed=0, seed2=0, S in index, T) -> output: T",
   shape=_shape, stateful=True)(_stateful(_gamma, ""))  # fmt: skip
op("RandomPoissonV2(shape: S, rate: R; seed=0, seed2=0, S in index, R=float64, R in real, "
   "dtype=int64, dtype in real) -> output: dtype",
   shape=_shape, stateful=True)(_stateful(_poisson, "dtype"))  # fmt: skip


@op("StatelessRandomGammaV3(shape: shape_dtype, key: uint64, counter: uint64, alg: int32, "
    "alpha: dtype; shape_dtype=int32) -> output: dtype", shape=_given_shape)  # fmt: skip
def _stateless_gamma(
    shape: Array, key: Array, counter: Array, alg: Array, alpha: Array  # noqa: ARG001
) -> Array:  # fmt: skip
    return _samples(_gamma, generator_at(key, counter), shape, alpha).astype(alpha.dtype)


@op("StatelessRandomPoisson(shape: T, seed: Tseed, lam: Rtype; Rtype, dtype, T in index, "
    "Tseed=int64) -> output: dtype", shape=_given_shape)  # fmt: skip
def _stateless_poisson(shape: Array, seed: Array, lam: Array, dtype: DType) -> Array:
    found = _samples(_poisson, generator_of_seed(seed), shape, lam)
    return found.astype(dtype.as_numpy_dtype)


not_differentiable("RandomPoissonV2", "StatelessRandomPoisson")
