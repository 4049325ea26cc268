"""Pairs of a oneDNN line and an execution it could belong to, and how good each pair is."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import Events
from tflogscope.model.links.assignment import NO_SLOT
from tflogscope.model.links.candidates import open_pairs
from tflogscope.model.links.kernels import ONCE, VAGUE, roles
from tflogscope.model.links.signs import NO, UNKNOWN, habits, oddities, shape_fit
from tflogscope.model.thresholds import HABITS

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
BESIDE, MAIN = 1, 2


@dataclass(frozen=True)
class Pairs:
    """Columns over pairs: numbers of `line` and `candidate`, and what the two are to each other.

    `role`: BESIDE or MAIN; `fit`: of the shapes, NO to YES; `problem`: a number for what the line
    says it ran.
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

    def slots(self, family: Integers, is_reorder: Booleans, layout: Integers) -> Integers:
        """Number the places that only one line can have.

        They are an execution's main primitive, and each problem that it runs beside that, in
        each layout of its operands (a number for each line: what goes in and what comes out may
        be of one size); NO_SLOT where a kernel runs any number.
        """
        slot = self.candidate.copy()
        beside = self.role == BESIDE
        key = np.stack([self.candidate, self.problem, layout[self.line]])[:, beside]
        slot[beside] = np.unique(key, axis=1, return_inverse=True)[1] + slot.max(initial=0) + 1
        slot[~ONCE[family[self.candidate]] & ~is_reorder[self.line]] = NO_SLOT
        return slot


@dataclass(frozen=True)
class Graded(Pairs):
    """Pairs, and how good each is: a key that is compared part by part, in this order; 0 is best.

    `unknown`: there are no shapes to compare; `vague`: it is not known what the kernel runs; `odd`:
    how many things are odd about it; `seldom`: 0 if that problem was seen each time that node ran,
    3 if seldom; `apart`: a reorder that does not go with the main primitive of the execution.
    """

    unknown: Booleans
    vague: Booleans
    odd: Integers
    seldom: Integers
    apart: Booleans

    @property
    def grade(self) -> Integers:
        """The key as a number: pairs of one grade are equally likely."""
        key = (self.unknown, self.vague, self.odd, self.seldom, self.apart)
        parts = [part.astype(np.int64) for part in key]
        return np.ravel_multi_index(parts, [int(part.max(initial=0)) + 1 for part in parts])


def read_pairs(
    lines: pl.DataFrame,
    candidates: pl.DataFrame,
    *,
    problems: pl.DataFrame,
    problem: Integers,
    shapes: pl.DataFrame,
    until: pl.Series,
) -> Pairs:
    """Return all pairs whose execution is open at the line and can run its primitive.

    `lines` are `exec` lines in the order of the log, `problem` their rows in `problems`; `until`
    says of each candidate up to which line it is open.
    """
    line, candidate = open_pairs(lines["at"].to_numpy(), candidates["at"].to_numpy(), until)
    family = candidates["family"].to_numpy()[candidate]
    kinds = problems.select("primitive", pl.col("prop_kind").fill_null("")).rows()
    role = roles(kinds)[family, problem[line]].astype(np.int64)
    able = role > 0
    line, candidate, family, role = line[able], candidate[able], family[able], role[able]
    fit = shape_fit(problems, problem[line], shapes, candidate, family).astype(np.int64)
    return Pairs(line, candidate, role, fit, problem[line])


def without_misfits(pairs: Pairs, primitive: pl.Series) -> Pairs:
    """Leave out pairs whose shapes contradict each other."""
    pairs = pairs.where(pairs.fit > NO)
    # What a kernel runs rarely is no rival to a kernel that runs it always.
    has_main = np.zeros(len(primitive), bool)
    has_main[pairs.line[pairs.role == MAIN]] = True
    is_reorder = (primitive == "reorder").to_numpy()
    rare = (pairs.role == BESIDE) & has_main[pairs.line] & ~is_reorder[pairs.line]
    return pairs.where(~rare)


def graded(pairs: Pairs, events: Events, lines: pl.DataFrame, candidates: pl.DataFrame) -> Graded:
    """Add to pairs without misfits how good each is; of reorders, `preferring` says the last."""
    where = candidates["where"].to_numpy()
    return Graded(
        **vars(pairs),
        unknown=pairs.fit == UNKNOWN,
        vague=VAGUE[candidates["family"].to_numpy()[pairs.candidate]],
        odd=oddities(events, lines, pairs.line, candidates, pairs.candidate),
        seldom=len(HABITS) - habits(where, np.bincount(where), pairs.problem, pairs.candidate),
        apart=np.zeros(len(pairs), bool),
    )


def preferring(pairs: Graded, rows: Integers, good: Booleans) -> Graded:
    """Put those of `rows` that are not `good` behind others that are equal else."""
    apart = pairs.apart.copy()
    apart[rows] = ~good
    return replace(pairs, apart=apart)
