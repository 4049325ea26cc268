"""Random numbers. See `core/kernels/random_op.cc`, `stateless_random_ops_v2.cc`.

NB: they are NumPy's. The same seeds give the same numbers, but not those that TensorFlow draws.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime.core.known import known_shape
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.ops.rules import same

Generator = np.random.Generator
_64 = 2**64 - 1


def generator_of(*seeds: int) -> Generator:
    return np.random.default_rng([seed & _64 for seed in seeds])


# -- distributions


def _truncated_normal(generator: Generator, sizes: Any) -> Any:
    """What is beyond 2 is drawn again."""
    drawn = generator.standard_normal(sizes, np.float32)
    while np.any(beyond := np.abs(drawn) >= 2):
        drawn[beyond] = generator.standard_normal(int(beyond.sum()), np.float32)
    return drawn


_DRAWS: dict[str, Callable[[Generator, Any], Any]] = {
    "Uniform": lambda generator, sizes: generator.random(sizes, np.float32),
    "Normal": lambda generator, sizes: generator.standard_normal(sizes, np.float32),
    "Truncated": _truncated_normal,
}


def _sizes(shape: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in shape)


def _shape(i: Inference) -> TensorShape:
    return known_shape(i.inputs[0])


# -- stateful ops: each kernel has a generator of its own


class _Stateful:
    def __init__(self, draw: Callable[..., Any]) -> None:
        self._draw = draw

    def instance(self, attributes: dict[str, Any]) -> Callable[..., Any]:
        """The kernel of one use of the op."""
        seeds = attributes["seed"], attributes["seed2"]
        generator = generator_of(*(seeds if any(seeds) else (secrets.randbits(63),)))
        return lambda *inputs: self._draw(generator, *inputs)


def _row(line: str, shape: Any, draw: Callable[..., Any]) -> None:
    kernel: Any = _Stateful(draw)
    op(line, shape, kernel, stateful=True)


for _type, _name in {
    "RandomUniform": "Uniform", "RandomStandardNormal": "Normal", "TruncatedNormal": "Truncated"
}.items():  # fmt: skip
    _row(f"{_type}(shape: T; dtype, seed=0, seed2=0) -> output: dtype", _shape,
         lambda generator, shape, draw=_DRAWS[_name]: draw(generator, _sizes(shape)))  # fmt: skip
_row("RandomUniformInt(shape: T, minval: Tout, maxval: Tout; seed=0, seed2=0) -> output: Tout",
     _shape, lambda generator, shape, low, high:
         generator.integers(int(low), int(high), _sizes(shape)))  # fmt: skip
_row("RandomShuffle(value: T; seed=0, seed2=0) -> output: T", same,
     lambda generator, value: generator.permutation(value) if value.ndim else value)  # fmt: skip


# -- stateless ops: key and counter are inputs


def _stateless(draw: Callable[[Generator, Any], Any]) -> Callable[..., Any]:
    def kernel(shape: Any, key: Any, counter: Any, _: Any) -> Any:
        seeds = (int(each) for each in (*key, *counter))
        return draw(generator_of(*seeds), _sizes(shape))

    return kernel


op("StatelessRandomGetKeyCounter(seed: Tseed; Tseed=int64) -> key: uint64, counter: uint64",
   lambda _: [TensorShape([1]), TensorShape([2])],
   lambda seed: (seed[:1].astype(np.uint64), seed.astype(np.uint64)))  # fmt: skip
_INPUTS = "shape: Tshape, key: uint64, counter: uint64, alg: int32"
for _type, _name in {
    "StatelessRandomUniformV2": "Uniform", "StatelessRandomNormalV2": "Normal",
    "StatelessTruncatedNormalV2": "Truncated",
}.items():  # fmt: skip
    op(f"{_type}({_INPUTS}; dtype=float32, Tshape=int32) -> output: dtype", _shape,
       _stateless(_DRAWS[_name]))  # fmt: skip
