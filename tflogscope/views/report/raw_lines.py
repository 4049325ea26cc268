"""Lines of the log as they are, for the page's drawer: those that its tables and findings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from tflogscope.model.run import Run
    from tflogscope.sources import Source

_MOST = 5000  # of a log
_LONGEST = 600  # characters


def raw_lines(run: Run) -> dict[str, dict[str, str]]:
    """The text of lines, from 1, by source; cut where it is long.

    A log whose lines have something around them has none, and neither has a run of a store.

    Raises:
        InputError: an input can't be read any more.
    """
    first = pl.lit(run.coverage["source"].first()).alias("source")
    named = (
        pl.concat(
            [
                run.findings.select(
                    "source",
                    line=pl.col("lines").str.split(";").list.eval(pl.element().cast(pl.UInt64)),
                ).explode("line"),
                run.ops.select(first, line="first_line"),
                run.summary.functions.select(first, line="first_line"),
                run.summary.lines.select("source", line="first_line"),
            ],
            how="vertical_relaxed",
        )
        .drop_nulls()
        .unique()
        .sort("line")
    )
    return {
        source.name: _read(source, named.filter(source=source.name)["line"].head(_MOST).to_list())
        for source in run.sources
        if not source.envelopes and not source.process
    }


def _read(source: Source, lines: list[int]) -> dict[str, str]:
    """These lines, which must be sorted."""
    found: dict[str, str] = {}
    before = place = 0
    for block in source.blocks():
        if place == len(lines):
            break
        count = block.text.count(b"\n")
        if lines[place] <= before + count:
            texts = block.text.split(b"\n")
            while place < len(lines) and lines[place] <= before + count:
                text = texts[lines[place] - before - 1].decode()
                found[str(lines[place])] = f"{text[:_LONGEST]}…" if text[_LONGEST:] else text
                place += 1
        before += count
    return found
