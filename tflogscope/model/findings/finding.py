"""What a rule gives: a finding, with the facts of its sentences in `sentences/findings.toml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from tflogscope.model.names import MERGED


class Finding(NamedTuple):
    """One finding: its id, what it is about, how much of it, and the time at stake in µs.

    `time_us` is None where the log does not say. `at` are lines over all sources, from 0. `python`
    is the line of the program where the evidence names it; otherwise those of `at` say it.
    """

    id: str
    subject: str
    amount: int
    time_us: float | None
    at: Sequence[int]
    facts: Mapping[str, Any]
    python: str | None = None


def total(microseconds: pl.Series) -> float | None:
    """A sum; None if nothing is known."""
    return float(microseconds.sum()) if microseconds.count() else None


def most(values: pl.Series) -> list[str]:
    """The distinct values, those that occur most first."""
    counts = values.drop_nulls().str.strip_prefix(MERGED).alias("value").value_counts()
    return counts.sort("count", "value", descending=[True, False])["value"].to_list()
