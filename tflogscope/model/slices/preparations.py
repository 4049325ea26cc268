"""What is drawn beside what ran: tracing, instantiation, XLA's compilations.

They are on tracks of their own. Where `record` did not log it, tracing is drawn from the first
record that it wrote, so it took that long or longer.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.model.common.frames import Integers, looked_up, ranks
from tflogscope.model.common.names import function_columns, wrapped_op
from tflogscope.model.costs.first_calls import call_around, compile_times
from tflogscope.model.executions.executions import with_places
from tflogscope.model.ledger.phases import traced
from tflogscope.model.pipeline import Evidence
from tflogscope.model.slices.lanes import assign_lanes
from tflogscope.model.slices.primitive_slices import FARTHEST
from tflogscope.model.slices.slices import Slices, with_ids

MODE = "preparation"
SHORT_KINDS = {
    "tracing": "tracing",
    "instantiation": "graph optimization",
    "XLA compilation": "XLA",
}
"""What pictures call each kind."""


def read_preparations(of: Evidence) -> pl.DataFrame:
    """What TensorFlow and Python did before functions ran, one row each.

    Columns: kind (`tracing`, `instantiation` or `XLA compilation`), name (of the function, in
    full), source, line, end_line, begin and end (µs since the epoch).
    """
    prepared = {
        "tracing": traced(of)["name", "at", "begin", "end"],
        "instantiation": of.instantiations.spans.select(
            "at", "end_at", name="function", begin="time", end="end_time"
        ),
        "XLA compilation": _compilations(of),
    }
    every = pl.concat(
        [frame.with_columns(kind=pl.lit(kind)) for kind, frame in prepared.items()], how="diagonal"
    )
    every = every.filter(pl.col("end") > pl.col("begin"))
    every = every.sort("begin", "end", descending=[False, True])
    return with_places(of.events.spans, every)


def _compilations(of: Evidence) -> pl.DataFrame:
    """XLA's compilations. The record names no function: it is that of the call around it."""
    compilations = compile_times(of.events)
    around = call_around(compilations, of.calls).alias("row")
    named = looked_up(compilations.hstack([around]), of.calls.select("row", "name"), "row")
    begin = pl.col("time") - pl.col("took").round().cast(pl.Int64)
    return named.select("name", "at", begin=begin, end="time")


# ---- how it is drawn -----------------------------------------------------------------------------


def with_preparations(slices: Slices, spans: pl.DataFrame) -> Slices:
    """The same picture with what `read_preparations` found.

    Their slices have no row of the timeline; mode in `texts` is `preparation`. A log without times
    has none.
    """
    origin = slices.origin
    if origin is None or slices.clock != "time" or spans.is_empty():
        return slices
    spans = spans.with_columns((pl.col("begin", "end") - origin).clip(-FARTHEST, FARTHEST) * 1000)
    lane = _lanes(spans)
    frame = spans.select(
        "line",
        "end_line",
        track=pl.Series(lane + slices.tracks.height),
        begin_ns="begin",
        end_ns="end",
        has_end=pl.lit(True),
        placed=pl.lit(False),
        text=pl.int_range(pl.len()) + slices.texts.height,
    )
    tracks = _tracks(slices.tracks, int(lane.max()) + 1)
    return _merged(slices, frame, _texts(spans), tracks)


def _texts(prepared: pl.DataFrame) -> pl.DataFrame:
    """What is said of them, one text for each."""
    name = pl.col("name")
    return prepared.select(
        "kind",
        "source",
        mode=pl.lit(MODE),
        op=wrapped_op(name),
        rewrite=pl.lit("none"),
        **function_columns(pl.when(wrapped_op(name).is_null()).then(name)),
    )


def _lanes(prepared: pl.DataFrame) -> Integers:
    begin, end = prepared["begin"].to_numpy(), prepared["end"].to_numpy()
    time = np.concatenate([begin, end])
    rank = ranks(np.arange(len(time)) < len(begin), time)
    kinds = prepared["kind"].replace_strict(
        {"tracing": 0, "instantiation": 1, "XLA compilation": 1}, return_dtype=pl.Int64
    )
    group = kinds.to_numpy()
    lane = assign_lanes(group, rank[: len(begin)], rank[len(begin) :])
    first = int(lane[group == 0].max()) + 1 if (group == 0).any() else 0
    return np.where(group == 0, lane, lane + first)


def _tracks(tracks: pl.DataFrame, lanes: int) -> pl.DataFrame:
    """Tracks below the others."""
    more = pl.DataFrame({"track": range(tracks.height, tracks.height + lanes)})
    more = more.with_columns(name=pl.lit("instantiation"))
    return with_ids(pl.concat([tracks, more], how="diagonal"))


def _merged(
    slices: Slices, more: pl.DataFrame, texts: pl.DataFrame, tracks: pl.DataFrame
) -> Slices:
    """Both together in the order of their begins, from the first of them on."""
    more = more.with_columns(pl.col("line", "end_line").cast(pl.UInt64))
    both = pl.concat([slices.frame, more], how="diagonal")
    first = min(int(both["begin_ns"].to_numpy().min()), 0)
    both = both.with_columns(pl.col("begin_ns", "end_ns") - first)
    both = both.sort("begin_ns", "begin_order", nulls_last=False, maintain_order=True)
    return slices._replace(
        frame=both,
        texts=pl.concat([slices.texts, texts], how="diagonal_relaxed"),
        tracks=tracks,
        origin=(slices.origin or 0) + first // 1000,
    )
