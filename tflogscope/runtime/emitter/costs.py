"""How long things take: a model that is simple, and the same for the same seed.

A kernel costs a little for being called, and then by the numbers it reads, writes and multiplies.
The first primitive of a shape is slow, because oneDNN compiles it; so is the first product of
matrices of the process by `gemm`, whose kernels are all compiled then.
"""

from __future__ import annotations

import random

__all__ = ["Costs"]

_CALL = 12.0
_PER_BYTE = 1 / 8_000
_PER_FLOP = 1 / 40_000
_BY_GEMM = frozenset({"gemm_api", "inner_product"})


class Costs:
    """Gives times in µs, a bit different each time."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a model, no secret
        self._known: set[tuple[str, str]] = set()
        self._has_gemm = False

    def between(self, low: int, high: int) -> int:
        """A time from `low` to `high` µs."""
        return self._random.randint(low, high)

    def number(self, bits: int) -> int:
        """A number that means nothing: part of a name, a step."""
        return self._random.getrandbits(bits)

    def kernel(self, size: int, work: int = 0) -> int:
        """The time of a kernel that touches so many bytes and does so many operations."""
        time = _CALL + size * _PER_BYTE + work * _PER_FLOP
        return max(1, int(time * (0.8 + 0.5 * self._random.random())))

    def primitive(self, kind: str, problem: str, size: int, work: int) -> float:
        """The time of a primitive, in ms, as oneDNN measures it: longer the first time."""
        time = 2.0 + size * _PER_BYTE + work * _PER_FLOP
        if kind in _BY_GEMM and not self._has_gemm:
            self._has_gemm = True
            time += 30_000 + 20_000 * self._random.random()
        elif (kind, problem) not in self._known:
            time += 60 + 300 * self._random.random()
        self._known.add((kind, problem))
        ticks = round(time * (0.8 + 0.5 * self._random.random()) * 4.096)
        return max(1, ticks) / 4096  # the clock that oneDNN reads
