"""Where the wall time of a run went: the table `time`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from tflogscope.model.figures import duration, percent
from tflogscope.views import document as doc
from tflogscope.views.document import Column

if TYPE_CHECKING:
    from tflogscope.model.run import Run

_LEAST = 0.005  # of the run, for a phase to be shown
_ONCE = ("start-up", "tracing", "graph-passes", "first-runs", "xla")
_AGAIN = {"logging": ""}


def time_section(run: Run) -> Iterator[doc.Section]:
    """The phases that took time, with what a program pays once apart from what each step costs."""
    known = run.time.drop_nulls("wall_us")
    if known.is_empty():
        return
    whole = float(known["wall_us"].sum())
    once = float(known.filter(pl.col("phase").is_in(_ONCE))["wall_us"].sum())
    log = float(known.filter(phase="logging")["wall_us"].sum())
    shown = known.filter(pl.col("share") >= _LEAST).to_dicts()
    rows = [
        {
            "phase": row["phase"],
            "paid": "once"
            if row["phase"] in _ONCE
            else ""
            if row["phase"] == "logging"
            else "again",
            "us": row["wall_us"],
            "share": percent(row["wall_us"], whole),
        }
        for row in shown
    ]
    columns = (
        Column("phase", "phase", least=12),
        Column("us", "time", "us"),
        Column("share", "of the run", "share", stays=True),
        Column("paid", "paid", about="once: however long the program runs; again: at each step"),
    )
    said = f"{duration(whole)} in all: {duration(once)} paid once, "
    said += f"{duration(whole - once - log)} again and again, {duration(log)} for the log"
    nodes: list[doc.Node] = [
        doc.Table(columns, rows, "Where the time went", "time-table"),
        doc.Paragraph(f"{said}. docs/time.md says what is in each."),
    ]
    unknown = run.time.filter(pl.col("wall_us").is_null())["phase"].to_list()
    if unknown:
        nodes.append(doc.Paragraph(f"Not shown by this log: {', '.join(unknown)}."))
    yield doc.Section("Where the time went", nodes, "time")
