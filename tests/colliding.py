"""Strings made for a hash without a key: that of the scanner before 0.3, which anybody can invert.

Strings of 32 bytes were mixed as four words. The first two met in `first ^ second`, so for any
first word there is a second one with the same hash.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_INVERSE = np.uint64(pow(int(_FACTOR), -1, 2**64))
_BEGIN = (np.uint64(32), np.uint64(0x165667B19E3779F9))
_HALF, _TRIALS = np.uint64(32), 1 << 20
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

Words = NDArray[np.uint64]


def _mixed(one: Words, other: np.uint64) -> Words:
    found = (one ^ other) * _FACTOR
    return found ^ (found >> _HALF)


def _unmixed(mixed: Words, other: np.uint64) -> Words:
    return ((mixed ^ (mixed >> _HALF)) * _INVERSE) ^ other


def colliding(count: int, letters: bytes = LETTERS) -> list[str]:
    """So many strings of 32 of these letters, all with one hash."""
    random, known = np.random.default_rng(0), np.zeros(256, bool)
    known[list(letters)] = True
    found: list[str] = []
    zero = np.uint64(0)
    while len(found) < count:
        drawn = random.choice(np.frombuffer(letters, np.uint8), (_TRIALS, 8))
        first = drawn.view(np.uint64).ravel()
        wanted = _mixed(_mixed(first, _BEGIN[0]), zero) ^ np.uint64(0x1234)
        second = _unmixed(_unmixed(wanted, zero), _BEGIN[1])
        fits = known[second.view(np.uint8).reshape(-1, 8)].all(axis=1)
        pairs = np.stack([first[fits], second[fits]], axis=1)
        found += [pair.tobytes().decode() + "x" * 16 for pair in pairs]
    return found[:count]
