"""Lines of a plug-in's own library → rows like those of oneDNN's verbose lines, in columns.

Which messages they are, and what is where in them, is in grammars/plugins/.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from tflogscope.events.onednn import MICROSECONDS, VERBOSE_SCHEMA
from tflogscope.events.times import DAY_US
from tflogscope.grammar.rewriters import REWRITERS, PrimitiveLines, Rewriter

Messages = Callable[[str], pl.DataFrame]
LATE_LINE = 1000.0  # µs; lines that came at once were 50 µs or more before the record after them
LATE_LINES = 0.05  # of all: a thread may be put aside between reading the clock and writing


def with_plugin_lines(lines: pl.DataFrame, messages: Messages) -> pl.DataFrame:
    """Add to rows of `onednn.read_verbose` those of plug-ins; their `marker` is the plug-in's id.

    `messages` gives the records of one message.
    """
    frames = [
        _rows(rewriter, rewriter.primitives, messages)
        for rewriter in REWRITERS
        if rewriter.primitives is not None
    ]
    filled = [frame for frame in frames if frame.height]
    if not filled:
        return lines
    both = pl.concat([lines, *filled], how="diagonal").select(*VERBOSE_SCHEMA)
    return both.sort("at", maintain_order=True)


def _rows(rewriter: Rewriter, layout: PrimitiveLines, messages: Messages) -> pl.DataFrame:
    """A row for each primitive that ran."""
    runs, timed = messages(layout.runs), messages(layout.timed)
    if not runs.height + timed.height:
        return runs.clear()
    # A line with a time repeats one before it; where only times are printed, it is the row.
    key = ["primitive", "said"]
    numbered = pl.int_range(pl.len()).over(key)
    runs = runs.select("at", *key, number=numbered)
    timed = timed.select(*key, timed_at="at", us=_time(), number=numbered)
    lines = runs.join(timed, on=[*key, "number"], how="full", coalesce=True)
    lines = lines.with_columns(at=pl.coalesce("at", "timed_at")).sort("at")
    text, name = pl.col("said"), pl.col("primitive").str.to_lowercase().str.replace_all(" ", "_")
    sizes = [text.str.extract(pattern, 1).str.replace_all(",", "x") for pattern in layout.problem]
    return lines.select(
        "at",
        event=pl.lit("exec"),
        marker=pl.lit(rewriter.id),
        engine=pl.lit("cpu"),
        primitive=name,
        primitive_kind=name,
        implementation=text.str.extract(layout.implementation, 1),
        memory_descriptors=text.str.extract_all(layout.tensors).list.join(" "),
        attributes=text.str.extract(layout.attributes, 1),
        problem=pl.concat_str(sizes, separator=":"),
        duration_us=pl.when(pl.col("us") <= DAY_US).then("us"),
    )


def late_plugins(messages: Messages, records: Callable[[], pl.DataFrame]) -> tuple[str, ...]:
    """Ids of plug-ins whose lines came late, in blocks: then no line is where it was written.

    Their own clock says so. A line was written before the record after it, so the least distance
    between the two clocks is that of the lines that came at once; one that was written long before
    the record in front of it came late. `records` gives at and time of TensorFlow's.
    """
    late_ids = []
    for rewriter in REWRITERS:
        if rewriter.primitives is None or not rewriter.primitives.clock:
            continue
        lines = messages(rewriter.primitives.runs)
        if lines.is_empty() or records().is_empty():
            continue
        lines, times = lines.sort("at"), records().select("at", "time").sort("at")
        clocks = lines.select("at", own=pl.col(rewriter.primitives.clock).cast(pl.Float64) * 1e6)
        near = clocks.join_asof(times.rename({"time": "before"}), on="at").join_asof(
            times.rename({"time": "after"}), on="at", strategy="forward", allow_exact_matches=False
        )
        start = (near["after"] - near["own"]).min()
        late = near.filter(pl.col("before") - pl.col("own") > pl.lit(start) + LATE_LINE)
        if late.height > max(1, LATE_LINES * lines.height):
            late_ids.append(rewriter.id)
    return tuple(late_ids)


def _time() -> pl.Expr:
    unit = pl.col("unit").replace_strict(MICROSECONDS, return_dtype=pl.Float64)
    return (pl.col("took").cast(pl.Float64) * unit).round_sig_figs(7)
