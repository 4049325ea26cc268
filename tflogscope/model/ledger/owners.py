"""Owners: which finding would remove how much of which stretch.

A rule of findings claims windows of a thread's time. Rules are asked in the order of
`grammars/ledger.toml`, and what one has, no later one gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.grammar.load import packaged_toml
from tflogscope.model.common.frames import Integers, ranges
from tflogscope.model.common.intervals import newly_covered

Claims = Sequence[pl.DataFrame]
"""What one finding claims, in layers: windows with thread, begin, end (µs), and us, which would not
have been there (null: all of it). Windows of one layer don't overlap; layers add up."""


@cache
def waiting_owners() -> list[str]:
    """The ids of those whose time is gaps and waits, which a busy machine makes longer."""
    return [row["id"] for row in packaged_toml("ledger.toml")["owner"] if row.get("waits")]


@cache
def owners_once() -> list[str]:
    """The ids of those whose time counts once for all threads that serve."""
    return [row["id"] for row in packaged_toml("ledger.toml")["owner"] if row.get("once")]


@cache
def owner_order() -> list[str]:
    """The ids of findings that own time, the first to be asked first (`grammars/ledger.toml`)."""
    return [row["id"] for row in packaged_toml("ledger.toml")["owner"]]


class Owners(NamedTuple):
    """Of each stretch the number of the finding that owns it (-1: none), and what is avoidable."""

    owner: Integers
    avoidable_us: NDArray[np.float64]


def assign_owners(stretches: pl.DataFrame, claims: Sequence[Claims]) -> Owners:
    """Give stretches (`read_stretches`) to findings, the first that claims one first."""
    work = stretches["work_us"].to_numpy()
    owner, avoidable = np.full(len(work), -1), np.zeros(len(work))
    places = _places_of_threads(stretches)
    for number, layers in enumerate(claims):
        for windows in layers:
            row, window = _rows_in(windows, places)
            free = (owner[row] == -1) | (owner[row] == number)
            row, window = row[free], window[free]
            room = np.clip(work[row] - avoidable[row], 0.0, None)
            whole = np.bincount(window, room, windows.height)
            wanted = windows["us"].cast(pl.Float64).fill_null(np.inf).to_numpy()
            share = np.clip(wanted / np.where(whole, whole, 1.0), 0.0, 1.0)[window]
            taken = room * share > 0
            owner[row[taken]] = number
            avoidable[row[taken]] += (room * share)[taken]
    return Owners(owner, avoidable)


def count_once(stretches: pl.DataFrame, owners: Owners, numbers: Sequence[int]) -> Owners:
    """Make avoidable time of these owners that of the clock: what threads lose at once counts once.

    Threads that dispatch eager ops wait for each other: Python runs one of them at a time.
    """
    begin, end = pl.col("start"), pl.col("end")
    lost_once = newly_covered(begin, end, "owner").sum() / (end - begin).sum()
    owned = stretches.select("start", "end", "thread", owner=owners.owner)
    shared = owned.group_by("owner").agg(pl.col("thread").n_unique())
    several = shared.filter(pl.col("owner").is_in([*numbers]), pl.col("thread") > 1)["owner"]
    avoidable = owners.avoidable_us.copy()
    for number in several:
        mine = owners.owner == number
        avoidable[mine] *= owned.filter(mine).select(lost_once).item()
    return Owners(owners.owner, avoidable)


_Places = dict[int, tuple[int, Integers]]


def _places_of_threads(stretches: pl.DataFrame) -> _Places:
    """Of each thread the first of its rows, and their starts."""
    places: _Places = {}
    row = 0
    for part in stretches[["thread", "start"]].partition_by("thread", maintain_order=True):
        places[part["thread"][0]] = (row, part["start"].to_numpy())
        row += part.height
    return places


def _rows_in(windows: pl.DataFrame, places: _Places) -> tuple[Integers, Integers]:
    """The rows of stretches that begin in windows, and of each the number of its window."""
    thread = windows["thread"].to_numpy()
    begin, end = (windows[name].to_numpy() for name in ("begin", "end"))
    first, last = np.zeros_like(thread), np.zeros_like(thread)
    for number, (row, starts) in places.items():
        mine = thread == number
        first[mine] = row + np.searchsorted(starts, begin[mine])
        last[mine] = row + np.searchsorted(starts, end[mine])
    window, rows = ranges(first, np.clip(last - first, 0, None))
    return rows, window
