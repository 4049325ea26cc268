"""The account of every line: what each source holds of records, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.grammar.tables import schema
from tflogscope.native import library as c

if TYPE_CHECKING:
    from tflogscope.events.events import Events

_COUNTS = (
    "bytes",
    "lines",
    "records",
    "recognised",
    "ignored",
    "unknown",
    "continuation",
    "blank",
    "torn",
    "bad_bytes",
)


def _schema() -> dict[str, pl.DataType]:
    """The columns that are known here."""
    columns = schema("coverage")
    return {name: kind for name, kind in columns.items() if name != "onednn_version"}


def coverage_table(events: Events, unknown_at: NDArray[np.int64]) -> pl.DataFrame:
    """The `coverage` table of the contract, without `onednn_version`.

    `unknown_at` are the places of records that the scan took for some and no entry of the grammar
    matches. A line counts as its first record, so those that come after it do not count.
    """
    unknown = np.sort(unknown_at[unknown_at % c.PLACES == 0])
    level, dialect = highest_level(events), _dialect(events)
    rows = []
    for span in events.spans:
        blank, continuation, ignored, *records = span.classes
        borders = np.array([span.first, span.first + span.lines]) * c.PLACES
        first, after = np.searchsorted(unknown, borders).tolist()
        recognised = sum(records) - (after - first)
        values = (
            span.account.bytes,
            span.lines,
            sum(records) + ignored,
            recognised,
            ignored,
            after - first,
            continuation,
            blank,
            span.torn,
            span.account.bad_bytes,
        )
        counts = dict(zip(_COUNTS, values, strict=True))
        rows.append(
            {"source": span.name, **counts, "vlog_level": level, "tensorflow_dialect": dialect}
        )
    return pl.DataFrame(rows, schema=_schema())


def highest_level(events: Events) -> int | None:
    """The highest VLOG level of any message seen."""
    known = events.grammar.by_id
    return max((known[id_].level for id_ in events.seen & known.keys()), default=None)


def _dialect(events: Events) -> str | None:
    """Names of the prefixes seen."""
    names = []
    for number, prefix in enumerate(events.dialects):
        if any(number < len(span.dialects) and span.dialects[number] for span in events.spans):
            tid = prefix.id == "classic" and events.has_threads
            names.append("classic with thread ids" if tid else prefix.id)
    return ", ".join(names) or None


def problems(events: Events) -> list[str]:
    """Why sources could not be read as they are: ends of archives missing, lines cut."""
    found = []
    for span in events.spans:
        account = span.account
        if account.problem:
            found.append(f"{span.name}: {account.problem}")
        if account.cut_lines:
            lines = "1 line is" if account.cut_lines == 1 else f"{account.cut_lines:,} lines are"
            found.append(
                f"{span.name}: {lines} longer than the cap; {account.cut_bytes:,} bytes "
                "of that were left out"
            )
    return found
