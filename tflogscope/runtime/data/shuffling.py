"""Shuffling: a buffer from which elements are drawn at random, with the numbers that TensorFlow
draws.

Told about: `core/kernels/data/shuffle_dataset_op.cc` and `random_seed_ops.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from tflogscope.runtime.data.elements import INFINITE, Element, Elements
from tflogscope.runtime.ops.philox import Philox

__all__ = ["RandomNumbers", "SeedGenerator", "Shuffle"]


class Samples:
    """One 32-bit number after the other, from blocks of four. `SingleSampleAdapter`."""

    def __init__(self, seed: int, seed2: int) -> None:
        self._philox = Philox.from_seeds(seed, seed2)
        self._block: list[int] = []

    def __call__(self) -> int:
        if not self._block:
            self._block = [int(number) for number in self._philox.reserve(1).numbers(4)]
        return self._block.pop(0)


class SeedGenerator:
    """Gives each iterator its two seeds: other ones each time if it reshuffles, else always the
    same.
    """

    def __init__(self, seed: int, seed2: int, *, reshuffle: bool) -> None:
        self._seeds = seed, seed2
        self._samples = Samples(seed, seed2) if reshuffle else None

    def __call__(self) -> tuple[int, int]:
        return (self._samples(), self._samples()) if self._samples else self._seeds


@dataclass(frozen=True)
class RandomNumbers(Elements):
    """Numbers without end, the same for each iterator. `RandomDataset`."""

    seed: int
    seed2: int

    def __iter__(self) -> Iterator[Element]:
        samples = Samples(self.seed, self.seed2)
        while True:
            yield [np.asarray(samples(), np.int64)]

    def cardinality(self) -> int:
        return INFINITE


@dataclass(frozen=True)
class Shuffle(Elements):
    """Draws each element from a buffer of `size` elements, which is filled up again.
    `ShuffleDatasetV3`.

    An iterator over it takes its seeds when it is made, not with its first element
    (`ReshufflingDatasetV3::Iterator::Initialize`), so iterators reshuffle in the order in which
    they were made. Where it is begun again (`repeat`), it takes others.
    """

    source: Elements
    size: int
    seeds: SeedGenerator
    # Seeds of one iterator alone, for its first round.
    taken: list[tuple[int, int]] = field(default_factory=list, compare=False)

    def for_one_iterator(self) -> Elements:
        """The same for one iterator alone, with its seeds."""
        return replace(cast("Shuffle", super().for_one_iterator()), taken=[self.seeds()])

    def __iter__(self) -> Iterator[Element]:
        random = Samples(*(self.taken.pop() if self.taken else self.seeds()))
        source = iter(self.source)
        # A ring: what is drawn changes place with the first, which then leaves.
        places: list[Element] = []
        size = self._places()
        start, held = 0, 0
        while True:
            while held < size and (element := next(source, None)) is not None:
                if len(places) < size:
                    places.append(element)
                else:
                    places[(start + held) % size] = element
                held += 1
            if not held:
                return
            drawn = (start + random() % held) % size
            first = start % size
            places[drawn], places[first] = places[first], places[drawn]
            yield places[first]
            start, held = start + 1, held - 1

    def cardinality(self) -> int:
        return self.source.cardinality()

    def _places(self) -> int:
        """-2 as size means a buffer for all elements."""
        return max(1, self.source.cardinality()) if self.size < 0 else self.size
