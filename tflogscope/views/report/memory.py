"""Memory of tensors over time, from `__LOG_MEMORY__` records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tflogscope.model.figures import count_of
from tflogscope.model.intervals import parts
from tflogscope.views.markup import Markup, element
from tflogscope.views.report.sections import paragraph, section
from tflogscope.views.report.tables import line_link

if TYPE_CHECKING:
    from tflogscope.model.run import Run

_PARTS = 800  # of the time, in each of which the most that was held is shown
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def size(count: float) -> str:
    """Bytes for people: `512 bytes`, `7.96 MB`."""
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} {_UNITS[-1]}"


def memory(run: Run) -> Markup:
    """The section; the chart is drawn by a script, what it shows is said in words."""
    memory_ = run.memory
    if memory_ is None:
        return Markup("")
    frame = memory_.frame
    about = paragraph(
        "What tensors held, counted from the records of their buffers "
        "(core/framework/log_memory.cc). Buffers that TensorFlow or oneDNN takes otherwise have no "
        "such records.",
        class_="hint",
    )
    unmatched = None
    if memory_.without_id:
        count = count_of(memory_.without_id, "record")
        unmatched = paragraph(f"{count} can't be matched: the allocator gives no numbers.")
    if frame.is_empty():
        return section(
            "memory",
            "Memory",
            paragraph(
                "The log has no record of buffers that can be followed. tflogscope record --memory "
                "records them; without it, TF_CPP_MAX_VLOG_LEVEL=2 or "
                "TF_CPP_VMODULE=log_memory=2 does."
            ),
            unmatched,
        )
    most = int(frame["live_bytes"].arg_max() or 0)
    peak = size(int(frame["live_bytes"][most]))
    name, line = frame.select("source", "line").row(most)
    left = int(frame["live_bytes"][-1])
    said = paragraph(
        element("b", f"Most: {peak}"),
        " on line ",
        line_link(line, name),
        f"; at the end {size(left)}; {count_of(frame.height, 'change')}.",
    )
    chart = element("div", id="memory-chart", class_="live", role="img", aria_label=f"Most: {peak}")
    return section("memory", "Memory", said, chart, about, unmatched)


def memory_data(run: Run) -> dict[str, Any] | None:
    """The most held in each part of the time, then what was left; None: no chart.

    Times are ms of the timeline.
    """
    memory_, origin = run.memory, run.drawn.origin_us
    if memory_ is None or origin is None:
        return None
    frame = memory_.frame.drop_nulls("time")
    if frame.is_empty():
        return None
    time = frame["time"].to_numpy() - origin
    first, last = int(time.min()), int(time.max())
    edges = parts(first, last + 1, _PARTS)
    place = np.searchsorted(edges, time, side="right") - 1
    held = (
        frame.select("live_bytes", place=pl.Series(place))
        .group_by("place")
        .agg(most=pl.col("live_bytes").max(), last=pl.col("live_bytes").last())
        .sort("place")
    )
    # Between two changes it stays as it was.
    every = pl.DataFrame({"place": np.arange(len(edges) - 1)}).join(held, on="place", how="left")
    every = every.sort("place").with_columns(before=pl.col("last").shift(1).forward_fill())
    most = every.select(pl.max_horizontal("most", "before").fill_null(0)).to_series()
    # Most programs give everything back at the end, after the last record that has a time.
    return {"ms": (edges / 1000).tolist(), "bytes": [*most, frame["live_bytes"][-1]]}
