r"""Chrome's trace event format, as JSON: for Perfetto, chrome://tracing, speedscope and others.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
Times are µs from the begin of the trace. Step ids are strings: JavaScript's numbers are too short.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl

from tflogscope.exports.json_text import harmless
from tflogscope.exports.trace_rows import PART_ROWS, TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tflogscope.exports.trace_rows import PART_ROWS, TraceRows

_PID = 1
_NOT_A_THREAD = 0  # counters belong to the process


def chrome_json(rows: TraceRows) -> Iterator[bytes]:
    """The pieces of the file, in order."""
    about = harmless(json.dumps(rows.about))
    yield f'{{"displayTimeUnit":"ns","otherData":{about},"traceEvents":[\n'.encode()
    yield _names(rows).encode()
    heads, arguments = _heads(rows)
    threads = rows.slices.tracks["tid"]
    frame = rows.slices.frame.select("track", "begin_ns", "end_ns", "has_end").hstack(rows.frame)
    for part in frame.iter_slices(PART_ROWS):
        yield _events(part, heads, arguments, threads)
    yield from _counters(rows)
    yield _flows(rows).encode()
    # A last event without a comma behind it.
    yield f"{_event('M', 'process_sort_index', 0, sort_index=0)}\n]}}\n".encode()


def _event(phase: str, kind: str, tid: int, /, **arguments: str | int) -> str:
    event = {"ph": phase, "name": kind, "pid": _PID, "tid": tid, "args": arguments}
    return harmless(json.dumps(event, separators=(",", ":")))


def _names(rows: TraceRows) -> str:
    events = [_event("M", "process_name", _NOT_A_THREAD, name=rows.about["log"])]
    for place, track in enumerate(rows.slices.tracks.iter_rows(named=True)):
        events.append(_event("M", "thread_name", track["tid"], name=track["name"]))
        events.append(_event("M", "thread_sort_index", track["tid"], sort_index=place))
    return "".join(f"{event},\n" for event in events)


def _heads(rows: TraceRows) -> tuple[pl.Series, pl.Series]:
    """Of each distinct text how its event begins, and its arguments."""
    arguments = pl.concat_str([_member(name) for name in TEXTS], separator=",", ignore_nulls=True)
    made = rows.texts.select(
        head=pl.concat_str(
            pl.lit("{"), _member("name"), pl.lit(","), _member("category", "cat"), pl.lit(',"ph":')
        ),
        arguments=pl.concat_str(
            pl.lit('"args":{'),
            arguments,
            pl.when(arguments != "").then(pl.lit(",")).otherwise(pl.lit("")),
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


def _events(
    part: pl.DataFrame, heads: pl.Series, arguments: pl.Series, threads: pl.Series
) -> bytes:
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
        pl.lit(arguments).gather(text),
        pl.lit('"line":'),
        "line",
        _number("end_line"),
        _number("op_line"),
        _number("call"),
        pl.concat_str(pl.lit(',"step":"'), "step", pl.lit('"')),
        _number("duration_us"),
        pl.lit("}},\n"),
        ignore_nulls=True,
    )
    return _joined(part.select(event))


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


def _counters(rows: TraceRows) -> Iterator[bytes]:
    head = f'{{"ph":"C","pid":{_PID},"tid":{_NOT_A_THREAD},"name":'
    for name, frame, columns in (
        ("open ops", rows.open_ops, ("eager", "graph")),
        (f"{rows.kernels} share, %", rows.rewritten_share, ("percent",)),
    ):
        values = [pl.concat_str(pl.lit(f'"{each}":'), each) for each in columns]
        event = pl.concat_str(
            pl.lit(f'{head}"{name}","ts":'),
            _microseconds(pl.col("ns")),
            pl.lit(',"args":{'),
            pl.concat_str(values, separator=","),
            pl.lit("}},\n"),
        )
        for part in frame.iter_slices(PART_ROWS):
            yield _joined(part.select(event))


def _flows(rows: TraceRows) -> str:
    """From the begin of a call to the begin of its first op."""
    frame, flows = rows.slices.frame, rows.slices.flows
    events = []
    for phase, end in (('"s"', "from_slice"), ('"f","bp":"e"', "to_slice")):
        there = frame.select("begin_ns", "track").select(pl.all().gather(flows[end]))
        event = pl.concat_str(
            pl.lit(f'{{"ph":{phase},"cat":"call","name":"runs","pid":{_PID},"id":'),
            "call",
            pl.lit(',"tid":'),
            pl.lit(rows.slices.tracks["tid"]).gather(pl.col("track")),
            pl.lit(',"ts":'),
            _microseconds(pl.col("begin_ns")),
            pl.lit("},\n"),
        )
        events.append(_joined(there.with_columns(flows["call"]).select(event)).decode())
    return "".join(events)


def _joined(texts: pl.DataFrame) -> bytes:
    joined = texts.to_series().str.join("").item()
    return str(joined).encode()
