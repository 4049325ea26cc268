"""Philox 4x32-10: the random generator behind TensorFlow's random ops, and what is drawn from it.

Four numbers of 32 bits come from a counter of 128 bits and a key of 64 bits, by ten rounds of
multiplying and mixing; the next four from the next counter. So any part of the stream can be
computed without what is before it: here all at once, with NumPy, there by many threads.

Told about: `core/lib/random/philox_random.h` and `random_distributions.h`,
`core/kernels/random_ops_util.h`. The algorithm is by Salmon, Moraes, Dror and Shaw, "Parallel
random numbers: as easy as 1, 2, 3" (2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime import dtypes
from tflogscope.runtime.dtypes import DType

__all__ = ["Philox", "normal", "truncated_normal", "uniform", "uniform_full", "uniform_int"]

Array = NDArray[Any]
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = 0x9E3779B9, 0xBB67AE85
_MASK_128 = (1 << 128) - 1


@dataclass
class Philox:
    """A place in a stream: `counter` and `key` are Python ints of 128 and 64 bits."""

    counter: int
    key: int

    @classmethod
    def from_seeds(cls, seed: int, seed2: int) -> Philox:
        """The stream of a stateful op's two seeds: the first is the key, the second the upper half
        of the counter.
        """
        return cls((seed2 & (2**64 - 1)) << 64, seed & (2**64 - 1))

    def skip(self, count: int) -> None:
        """Leave out so many groups of four."""
        self.counter = (self.counter + count) & _MASK_128

    def reserve(self, count: int) -> Philox:
        """A generator that starts here; this one goes on after `count` groups of four."""
        taken = Philox(self.counter, self.key)
        self.skip(count)
        return taken

    def groups(self, count: int, step: int = 1) -> NDArray[np.uint32]:
        """[count, 4] numbers; the counters are `step` apart. It does not move on."""
        low, high = self.counter & (2**64 - 1), self.counter >> 64
        lower = np.arange(count, dtype=np.uint64) * np.uint64(step) + np.uint64(low)
        upper = np.full(count, high, np.uint64) + (lower < np.uint64(low)).astype(np.uint64)
        return _rounds([lower & _LOW, lower >> _SHIFT, upper & _LOW, upper >> _SHIFT], self.key)

    def numbers(self, count: int) -> NDArray[np.uint32]:
        """The next numbers, one by one. It does not move on."""
        return self.groups(-(-count // 4)).reshape(-1)[:count]


def _rounds(c: list[Array], key: int) -> NDArray[np.uint32]:
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        first, second = c[0] * _MULTIPLIERS[0], c[2] * _MULTIPLIERS[1]
        c = [
            (second >> _SHIFT) ^ c[1] ^ np.uint64(k0),
            second & _LOW,
            (first >> _SHIFT) ^ c[3] ^ np.uint64(k1),
            first & _LOW,
        ]
        k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
    return np.stack(c, -1).astype(np.uint32)


# -- distributions: each takes a generator and a number of elements


def _unit32(x: NDArray[np.uint32]) -> NDArray[np.float32]:
    """[0, 1) with 23 random bits: they become the fraction of a number in [1, 2)."""
    bits = (x & np.uint32(0x7FFFFF)) | np.uint32(127 << 23)
    return bits.view(np.float32) - np.float32(1)


def _unit64(high: NDArray[np.uint32], low: NDArray[np.uint32]) -> NDArray[np.float64]:
    """[0, 1) with 52 random bits."""
    fraction = ((high & np.uint32(0xFFFFF)).astype(np.uint64) << _SHIFT) | low
    return (fraction | np.uint64(1023 << 52)).view(np.float64) - 1.0


def _unit16(x: NDArray[np.uint32], bits: int) -> NDArray[np.float32]:
    """[0, 1) with as many bits as the fraction of half (10) or bfloat16 (7) has."""
    return (x & np.uint32((1 << bits) - 1)).astype(np.float32) / np.float32(1 << bits)


def uniform(generator: Philox, count: int, dtype: DType) -> Array:
    """Uniform in [0, 1)."""
    if dtype is dtypes.float64:
        x = generator.numbers(2 * count)
        return _unit64(x[0::2], x[1::2])
    x = generator.numbers(count)
    if dtype is dtypes.float32:
        return _unit32(x)
    return _unit16(x, 10 if dtype is dtypes.float16 else 7).astype(dtype.as_numpy_dtype)


def uniform_full(generator: Philox, count: int, dtype: DType) -> Array:
    """Uniform over all integers of that type."""
    if dtype.size == 8:
        x = generator.numbers(2 * count).astype(np.uint64)
        return (x[0::2] | (x[1::2] << _SHIFT)).astype(dtype.as_numpy_dtype)
    return generator.numbers(count).astype(dtype.as_numpy_dtype)


def uniform_int(generator: Philox, count: int, low: int, high: int, dtype: DType) -> Array:
    """Uniform in [low, high): the rest of a division, so not quite uniform if 2**32 is no multiple
    of the range.
    """
    unsigned = dtypes.uint64 if dtype.size == 8 else dtypes.uint32
    drawn: Array = uniform_full(generator, count, unsigned) % unsigned.as_numpy_dtype(high - low)
    return (drawn.astype(np.uint64) + np.uint64(low % 2**64)).astype(dtype.as_numpy_dtype)


def _box_muller(x0: Array, x1: Array) -> tuple[Array, Array]:
    """Two normal numbers from two uniform ones, in single precision."""
    u1 = np.maximum(_unit32(x0), np.float32(1e-7))
    angle = np.float32(2 * np.pi) * _unit32(x1)
    radius = np.sqrt(np.float32(-2) * np.log(u1))
    return np.sin(angle) * radius, np.cos(angle) * radius


def _box_muller64(x: Array) -> Array:
    u1 = np.maximum(_unit64(x[:, 0], x[:, 1]), 1e-7)
    angle = 2 * np.pi * _unit64(x[:, 2], x[:, 3])
    radius = np.sqrt(-2 * np.log(u1))
    return np.stack([np.sin(angle) * radius, np.cos(angle) * radius], -1).reshape(-1)


def normal(generator: Philox, count: int, dtype: DType) -> Array:
    """The standard normal distribution."""
    if dtype is dtypes.float64:
        return _box_muller64(generator.groups(-(-count // 2)))[:count]
    x = generator.groups(-(-count // 4))
    pairs = [*_box_muller(x[:, 0], x[:, 1]), *_box_muller(x[:, 2], x[:, 3])]
    return np.stack(pairs, -1).reshape(-1)[:count].astype(dtype.as_numpy_dtype)


_GROUP_STEP = 256
"""Each group of four truncated numbers has so many groups of the stream to itself, since how many
it needs is chance.
"""


def truncated_normal(generator: Philox, count: int, dtype: DType) -> Array:
    """The standard normal distribution without what is 2 or more away from 0: such numbers are
    drawn again.
    """
    if dtype is dtypes.float64:
        return _truncated64(generator, count)
    groups = -(-count // 4)
    result = np.zeros((groups, 4), np.float32)
    filled = np.zeros(groups, np.int64)
    for turn in range(_GROUP_STEP):
        at = Philox((generator.counter + turn) & _MASK_128, generator.key)
        x = at.groups(groups, _GROUP_STEP)
        for candidates in (*_box_muller(x[:, 0], x[:, 1]), *_box_muller(x[:, 2], x[:, 3])):
            good = (np.abs(candidates) < 2) & (filled < 4)
            rows = np.flatnonzero(good)
            result[rows, filled[rows]] = candidates[rows]
            filled[rows] += 1
        if np.all(filled == 4):
            break
    return result.reshape(-1)[:count].astype(dtype.as_numpy_dtype)


def _truncated64(generator: Philox, count: int) -> Array:
    groups = -(-count // 2)
    step = _GROUP_STEP // 2
    result = np.zeros((groups, 2))
    filled = np.zeros(groups, np.int64)
    for turn in range(step):
        at = Philox((generator.counter + turn) & _MASK_128, generator.key)
        candidates = _box_muller64(at.groups(groups, step)).reshape(-1, 2)
        for column in (0, 1):
            rows = np.flatnonzero((np.abs(candidates[:, column]) < 2) & (filled < 2))
            result[rows, filled[rows]] = candidates[rows, column]
            filled[rows] += 1
        if np.all(filled == 2):
            break
    return result.reshape(-1)[:count]
