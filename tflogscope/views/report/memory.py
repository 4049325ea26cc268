"""Memory of tensors over time, from `__LOG_MEMORY__` records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tflogscope.model.figures import count_of, size_of
from tflogscope.model.intervals import parts
from tflogscope.views.document import Line, Node, Paragraph, Picture, Section
from tflogscope.views.markup import element

if TYPE_CHECKING:
    from tflogscope.model.run import Run

_PARTS = 800  # of the time, in each of which the most that was held is shown


_ABOUT = (
    "What tensors held, counted from the records of their buffers (core/framework/log_memory.cc). "
    "Buffers that TensorFlow or oneDNN takes otherwise have no such records."
)
_NONE = (
    "The log has no record of buffers that can be followed. tflogscope record --memory records "
    "them; without it, TF_CPP_MAX_VLOG_LEVEL=2 or TF_CPP_VMODULE=log_memory=2 does."
)


def memory_section(run: Run) -> Sequence[Section]:
    """The section; the chart is drawn by a script, what it shows is said in words."""
    memory = run.memory
    if memory is None:
        return ()
    frame = memory.frame
    said: list[Node] = []
    if frame.is_empty():
        said.append(Paragraph(_NONE))
    else:
        most = int(frame["live_bytes"].arg_max() or 0)
        peak, left = (size_of(int(frame["live_bytes"][at])) for at in (most, -1))
        name, line = frame.select("source", "line").row(most)
        end = f"; at the end {left}; {count_of(frame.height, 'change')}."
        about = {"class_": "live", "role": "img", "aria_label": f"Most: {peak}"}
        said = [
            Paragraph((f"Most: {peak} on line ", Line(line, name), end)),
            Picture(element("div", id="memory-chart", **about)),
            Paragraph(_ABOUT, "hint"),
        ]
    if memory.without_id:
        count = count_of(memory.without_id, "record")
        said.append(Paragraph(f"{count} can't be matched: the allocator gives no numbers."))
    return (Section("Memory", said, "memory"),)


def memory_data(run: Run) -> dict[str, Any] | None:
    """The most held in each part of the time, then what was left; None: no chart.

    Times are ms of the timeline.
    """
    memory, origin = run.memory, run.drawn.origin_us
    if memory is None or origin is None:
        return None
    frame = memory.frame.drop_nulls("time")
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
