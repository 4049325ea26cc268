r"""Chrome's trace event format, as JSON: for Perfetto, chrome://tracing, speedscope and others.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
Times are µs from the begin of the trace. Step ids are strings: JavaScript's numbers are too short.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import polars as pl

from tflogscope.exports.json_text import harmless
from tflogscope.exports.trace_arguments import TEXTS, arguments
from tflogscope.model.run import Run
from tflogscope.model.slices.slices import Slices

_PID = 1
_PART_ROWS = 20_000  # written at once: the memory that it takes is not to be seen


def chrome_json(run: Run, made_by: str) -> Iterator[bytes]:
    """The pieces of the file, in order.

    Args:
        run: the run.
        made_by: the program and its version.
    """
    slices = run.drawn
    about = _about(run, slices, made_by)
    head = harmless(json.dumps(about))
    yield f'{{"displayTimeUnit":"ns","otherData":{head},"traceEvents":[\n'.encode()
    yield _names(about["log"], slices.tracks).encode()
    details, texts = arguments(run, slices)
    heads, members = _heads(texts)
    frame = slices.frame.select("track", "begin_ns", "end_ns", "has_end").hstack(details)
    for part in frame.iter_slices(_PART_ROWS):
        yield _events(part, heads, members, slices.tracks["tid"])
    # A last event without a comma behind it.
    yield f"{_event('M', 'process_sort_index', 0, sort_index=0)}\n]}}\n".encode()


def _about(run: Run, slices: Slices, made_by: str) -> dict[str, str]:
    """What the trace is of, and what is not in it."""
    axis = {
        "time": "time",
        "lines": "the log has no times: a line counts as 1 µs",
        "durations": "the log has no times: primitives are drawn back to back",
    }
    about = {
        "made_by": made_by,
        "log": ", ".join(run.coverage["source"].to_list()),
        "axis": axis[slices.clock],
        "not_drawn": "branches that were not taken; memory (__LOG_MEMORY__)",
    }
    if slices.origin is not None:
        about["begins_at"] = str(np.datetime64(slices.origin, "us"))
    if slices.left_out:
        about["left_out"] = f"{slices.left_out} executions without a time"
    return about


def _event(phase: str, kind: str, tid: int, /, **arguments: str | int) -> str:
    event = {"ph": phase, "name": kind, "pid": _PID, "tid": tid, "args": arguments}
    return harmless(json.dumps(event, separators=(",", ":")))


def _names(log: str, tracks: pl.DataFrame) -> str:
    events = [_event("M", "process_name", 0, name=log)]
    for place, track in enumerate(tracks.iter_rows(named=True)):
        events.append(_event("M", "thread_name", track["tid"], name=track["name"]))
        events.append(_event("M", "thread_sort_index", track["tid"], sort_index=place))
    return "".join(f"{event},\n" for event in events)


# ---- slices --------------------------------------------------------------------------------------


def _heads(texts: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Of each distinct text how its event begins, and its arguments."""
    members = pl.concat_str([_member(name) for name in TEXTS], separator=",", ignore_nulls=True)
    made = texts.select(
        head=pl.concat_str(
            pl.lit("{"), _member("name"), pl.lit(","), _member("category", "cat"), pl.lit(',"ph":')
        ),
        arguments=pl.concat_str(
            pl.lit('"args":{'),
            members,
            pl.when(members != "").then(pl.lit(",")).otherwise(pl.lit("")),
        ),
    )
    return _harmless(made["head"]), _harmless(made["arguments"])


def _harmless(texts: pl.Series) -> pl.Series:
    """Distinct texts only: they are few."""
    if not len(texts):
        return texts
    return pl.Series(texts.name, harmless("\n".join(texts.to_list())).split("\n"), dtype=pl.String)


def _member(column: str, name: str | None = None) -> pl.Expr:
    """`"name":"value"` as JSON; null where the value is null."""
    pair = pl.struct(pl.col(column).alias(name or column)).struct.json_encode()
    return pl.when(pl.col(column).is_not_null()).then(pair.str.slice(1).str.head(-1))


def _events(part: pl.DataFrame, heads: pl.Series, members: pl.Series, threads: pl.Series) -> bytes:
    text, track = pl.col("text"), pl.col("track")
    duration = pl.concat_str(
        pl.lit('"X","dur":'), _microseconds(pl.col("end_ns") - pl.col("begin_ns"))
    )
    event = pl.concat_str(
        pl.lit(heads).gather(text),
        pl.when("has_end").then(duration).otherwise(pl.lit('"i","s":"t"')),
        pl.lit(',"ts":'),
        _microseconds(pl.col("begin_ns")),
        pl.lit(f',"pid":{_PID},"tid":'),
        pl.lit(threads).gather(track),
        pl.lit(","),
        pl.lit(members).gather(text),
        pl.lit('"line":'),
        "line",
        _number("end_line"),
        _number("op_line"),
        _number("call"),
        pl.concat_str(pl.lit(',"step":"'), "step", pl.lit('"')),
        _number("work_us"),
        _number("duration_us"),
        pl.lit("}},\n"),
        ignore_nulls=True,
    )
    return str(part.select(event.str.join("")).item()).encode()


def _number(column: str) -> pl.Expr:
    return pl.concat_str(pl.lit(f',"{column}":'), column)


def _microseconds(nanoseconds: pl.Expr) -> pl.Expr:
    """Ns as µs: whole ones without a point, as most are."""
    whole = nanoseconds // 1000
    return (
        pl.when(nanoseconds % 1000 == 0)
        .then(whole.cast(pl.String))
        .otherwise((nanoseconds / 1000).cast(pl.String))
    )
