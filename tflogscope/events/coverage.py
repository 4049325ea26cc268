"""The account of every line: what each source holds of records, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.scan import SourceSpan
from tflogscope.grammar.model import Prefix
from tflogscope.grammar.tables import schema
from tflogscope.native import library as c


def coverage_table(
    spans: Sequence[SourceSpan],
    unknown_at: NDArray[np.int64],
    warned_at: NDArray[np.int64],
    **shared: int | str | None,
) -> pl.DataFrame:
    """The `coverage` table of the contract.

    `unknown_at` are the places of records that the scan took for some and no entry of the grammar
    matches. A line counts as its first record, so those that come after it do not count. At
    `warned_at` are warnings of Python, which begin behind a path: no other writer's text. `shared`
    are the columns that are the same for all sources.
    """
    warned = np.sort(warned_at)
    unknown = np.sort(unknown_at[unknown_at % c.PLACES == 0])
    table = []
    for span in spans:
        blank, continuation, ignored, *records = span.classes
        borders = np.array([span.first, span.first + span.lines]) * c.PLACES
        first, after = np.searchsorted(unknown, borders).tolist()
        warned_from, warned_to = np.searchsorted(warned, borders).tolist()
        lines = span.lines
        if span.account.envelope:
            # A text of several lines, or a line in pieces: the first of them is what the line is.
            # Of records in one line each counts as a line.
            lines = max(span.account.lines, span.lines - continuation)
            continuation += lines - span.lines
        counts = {
            "bytes": span.account.bytes,
            "lines": lines,
            "records": sum(records) + ignored,
            "recognised": sum(records) - (after - first),
            "ignored": ignored,
            "unknown": after - first,
            "continuation": continuation,
            "blank": blank,
            "torn": max(span.torn - (warned_to - warned_from), 0),
            "bad_bytes": span.account.bad_bytes,
        }
        table.append({"source": span.name, **counts, **shared})
    return pl.DataFrame(table, schema=schema("coverage"))


def dialects(
    spans: Sequence[SourceSpan], prefixes: Sequence[Prefix], *, has_threads: bool
) -> str | None:
    """Names of the prefixes seen."""
    names = []
    for number, prefix in enumerate(prefixes):
        if any(number < len(span.dialects) and span.dialects[number] for span in spans):
            tid = prefix.id == "classic" and has_threads
            names.append("classic with thread ids" if tid else prefix.id)
    return ", ".join(names) or None


def problems(spans: Sequence[SourceSpan]) -> list[str]:
    """Why sources can't be read as they are: ends of archives are missing, lines are cut."""
    texts = []
    for span in spans:
        account = span.account
        if account.problem:
            texts.append(f"{span.name}: {account.problem}")
        if account.cut_lines:
            lines = "1 line is" if account.cut_lines == 1 else f"{account.cut_lines:,} lines are"
            texts.append(
                f"{span.name}: {lines} longer than the cap; {account.cut_bytes:,} bytes "
                "of that were dropped"
            )
        if account.unowned:
            texts.append(
                f"{span.name}: {account.unowned:,} lines have no text or are cut by another "
                "line, and the rest is lost or can't be located"
            )
    return texts
