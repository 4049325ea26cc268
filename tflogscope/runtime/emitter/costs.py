"""How long things take, in microseconds: a model, with chance in it. The same seed gives the same."""

from __future__ import annotations

import random

_BY_GEMM = frozenset({"gemm_api", "inner_product"})


class Costs:
    """The times of one process."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a model, no secret
        self._known: set[tuple[str, str]] = set()

    def number(self, bits: int) -> int:
        """A number of so many bits."""
        return self._random.getrandbits(bits)

    def kernel(self, size: int) -> int:
        """A kernel that reads and writes so many bytes."""
        return max(1, int((12 + size / 6_600) * (0.8 + 0.5 * self._random.random())))

    def primitive(self, kind: str, problem: str, size: int) -> float:
        """Milliseconds of a primitive; a new one is made first, and the first product loads much."""
        time = 2.0 + size / 4_000
        if kind in _BY_GEMM and not any(known in _BY_GEMM for known, _ in self._known):
            time += 30_000 + 20_000 * self._random.random()
        elif (kind, problem) not in self._known:
            time += 60 + 300 * self._random.random()
        self._known.add((kind, problem))
        ticks = round(time * (0.8 + 0.5 * self._random.random()) * 4.096)
        return max(1, ticks) / 4096  # the clock that oneDNN reads
