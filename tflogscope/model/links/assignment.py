"""Gives each line the execution it most likely belongs to, each execution what it can hold.

A kernel of oneDNN runs one primitive of its main kind, so of several lines that could belong to
one execution only one does. That is the stable marriage problem: each line asks the execution it
likes best, which keeps the better of the lines that asked. Where all likes are equal, lines ask in
the order in which executions end; then the result is earliest-deadline-first, which leaves no line
without a place that could have one.
"""

from __future__ import annotations

import numpy as np

from tflogscope.model.common.frames import Booleans, Integers
from tflogscope.model.common.thresholds import MOST_ROUNDS

NO_SLOT = -1


def assign(line: Integers, slot: Integers, likes: Integers, merit: Integers) -> Integers:
    """Return for each line the pair it got, -1 for none; lines are numbered from 0 to the last.

    A row of the arguments is a pair of a line and a slot (NO_SLOT: there is room for any number).
    Lines prefer small `likes`, slots small `merit`, which is different in all pairs of a slot.
    """
    lines = int(line.max()) + 1 if len(line) else 0
    order = np.lexsort((likes, line))
    begin = np.searchsorted(line[order], np.arange(lines + 1))
    next_pair = begin[:-1].copy()
    got = np.full(lines, -1, np.int64)
    best = np.full(int(slot.max()) + 1 if len(slot) else 0, np.iinfo(np.int64).max)
    holder = np.full(len(best), -1, np.int64)
    free = np.flatnonzero(next_pair < begin[1:])
    for _ in range(MOST_ROUNDS):
        if not len(free):
            break
        pair = order[next_pair[free]]
        next_pair[free] += 1
        wanted = slot[pair]
        placed = wanted == NO_SLOT
        np.minimum.at(best, wanted[~placed], merit[pair[~placed]])
        placed[~placed] = merit[pair[~placed]] == best[wanted[~placed]]
        taken = wanted[placed]
        taken = taken[taken != NO_SLOT]
        put_off = holder[taken]
        put_off = put_off[put_off >= 0]
        got[put_off] = -1
        got[free[placed]] = pair[placed]
        holder[taken] = free[placed][wanted[placed] != NO_SLOT]
        again = np.concatenate([free[~placed], put_off])
        free = again[next_pair[again] < begin[again + 1]]
    return got


def exchangeable(
    line: Integers, candidate: Integers, slot: Integers, got: Integers, equal: Booleans
) -> Booleans:
    """Return for each line whether an equally good solution gives it another execution.

    `equal`: pairs as good as the one that their line got. Either the other's slot is empty, or the
    line in it could as well have this one. (Lines are points and executions intervals of one
    axis, so where any other solution exists, one of this kind does.)
    """
    lines = len(got)
    others = np.flatnonzero(equal & (got[line] >= 0) & (got[line] != np.arange(len(line))))
    swappable = np.zeros(lines, bool)
    if not len(others):
        return swappable
    holder = np.full(max(int(slot.max()) + 1, 1), -1, np.int64)
    held = got[got >= 0]
    held = held[slot[held] != NO_SLOT]
    holder[slot[held]] = line[held]
    their = np.where(slot[others] == NO_SLOT, -1, holder[slot[others]])
    width = int(candidate.max()) + 1
    pairs = np.sort((line * width + candidate)[equal | (got[line] == np.arange(len(line)))])
    back = their * width + candidate[got[line[others]]]
    place = np.minimum(np.searchsorted(pairs, back), len(pairs) - 1)
    swap = (their < 0) | (pairs[place] == back)
    swappable[line[others[swap]]] = True
    return swappable
