"""Pairs of a oneDNN line and an execution it could belong to, and how good each pair is."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from tflogscope.model.frames import Booleans, Integers

BESIDE, MAIN = 1, 2


@dataclass(eq=False, repr=False)
class Pairs:
    """Columns over pairs: numbers of `line` and `candidate`, and what the two are to each other.

    `role`: BESIDE or MAIN; `fit`: of the shapes, UNKNOWN or YES; `problem`: a number for what the
    line says it ran.
    """

    line: Integers
    candidate: Integers
    role: Integers
    fit: Integers
    problem: Integers

    def __len__(self) -> int:
        return len(self.line)

    def where(self, keep: Booleans) -> Self:
        """Those pairs only."""
        return replace(self, **{each.name: getattr(self, each.name)[keep] for each in fields(self)})


@dataclass(eq=False, repr=False)
class Graded(Pairs):
    """Pairs, how many things are odd about each, and how good each is: 0 is best.

    Pairs of one line and one grade are equally likely.
    """

    odd: Integers
    grade: Integers

    def preferring(self, good: Booleans) -> Graded:
        """Put pairs that are not `good` behind others that are equal else."""
        return replace(self, grade=grades(self.grade, ~good))


def grades(*parts: Integers | Booleans) -> Integers:
    """Numbers in the order of keys that are compared part by part, each from 0 up."""
    key = [part.astype(np.int64) for part in parts]
    return np.ravel_multi_index(key, [int(part.max(initial=0)) + 1 for part in key])
