"""Perfetto's own format: protobuf, with interned strings.

The messages: https://github.com/google/perfetto, protos/perfetto/trace, of which the field numbers
below are. Times are ns from the begin of the trace; a clock snapshot says which moment that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tflogscope.exports.ragged import (
    Integers,
    Pieces,
    Ragged,
    eight_bytes,
    integer,
    joined,
    message,
    one_integer,
    one_message,
    same,
    strings,
)
from tflogscope.exports.trace_rows import NUMBERS, PART_ROWS, TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tflogscope.exports.trace_rows import PART_ROWS, TraceRows

# Trace, TracePacket
_PACKET, _CLOCKS, _TIMESTAMP, _SEQUENCE, _EVENT, _INTERNED, _FLAGS, _TRACK = (
    1,
    6,
    8,
    10,
    11,
    12,
    13,
    60,
)
_CLEARED, _NEEDS_STATE = 1, 2  # SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_INCREMENTAL_STATE
_BOOTTIME, _REALTIME = 6, 1  # BuiltinClock
# TrackEvent
_CATEGORY, _ARGUMENT, _TYPE, _NAME, _TRACK_ID, _COUNT, _DOUBLE = 3, 4, 9, 10, 11, 30, 44
_FLOW, _LAST_FLOW = 47, 48
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
# DebugAnnotation
_ARGUMENT_NAME, _SIGNED, _FLOAT, _INTERNED_TEXT = 1, 4, 5, 17
# InternedData
_CATEGORIES, _NAMES, _ARGUMENT_NAMES, _ARGUMENT_TEXTS = 1, 2, 3, 29

_PROCESS = 1  # the track of the process; the others follow
_PID = 1
_EXPLICIT = 3  # ChildTracksOrdering: by sibling_order_rank
_ARGUMENTS = (*TEXTS, *NUMBERS, "duration_us")


def perfetto_trace(rows: TraceRows) -> Iterator[bytes]:
    """The pieces of the file, in order."""
    origin = rows.slices.origin_us
    if origin is not None and 0 <= origin * 1000 < 2**63:  # else there is no such clock
        yield _clock_snapshot(origin * 1000)
    yield _tracks(rows)
    categories, names, texts = _codes(rows)
    yield _interned(categories, names, texts)
    heads = _heads(rows, categories, names, texts)
    for part in _in_order(rows):
        yield _packets(part, heads)
    yield from _counters(rows)


def _packet(*content: bytes) -> bytes:
    return one_message(_PACKET, one_integer(_SEQUENCE, 1), *content)


def _clock_snapshot(origin_ns: int) -> bytes:
    clocks = [
        one_message(1, one_integer(1, clock), one_integer(2, time))
        for clock, time in ((_BOOTTIME, 0), (_REALTIME, origin_ns))
    ]
    return _packet(one_message(_CLOCKS, *clocks))


def _tracks(rows: TraceRows) -> bytes:
    process = one_message(3, one_integer(1, _PID), one_message(6, rows.about["log"]))
    packets = [
        _packet(one_message(_TRACK, one_integer(1, _PROCESS), process, one_integer(11, _EXPLICIT)))
    ]
    tracks = rows.slices.tracks
    for place, track in enumerate(tracks.iter_rows(named=True)):
        about = [one_integer(1, _track_id(track["track"])), one_integer(12, place + 2)]
        if track["tid"] == track["thread"]:
            thread = (one_integer(1, _PID), one_integer(2, track["tid"]), one_integer(3, place))
            about.append(one_message(4, *thread, one_message(5, track["name"])))
        else:
            about += [one_integer(5, _PROCESS), one_message(2, track["name"])]
        packets.append(_packet(one_message(_TRACK, *about)))
    for number, (name, _, _) in enumerate(_values(rows)):
        about = [one_integer(1, _track_id(tracks.height + number)), one_integer(5, _PROCESS)]
        about += [one_message(2, name), one_integer(12, number), one_message(8)]
        packets.append(_packet(one_message(_TRACK, *about)))
    return b"".join(packets)


def _track_id(track: int) -> int:
    return _PROCESS + 1 + track


# ---- interned strings ----------------------------------------------------------------------------


def _codes(rows: TraceRows) -> tuple[list[str], list[str], list[str]]:
    """Distinct categories, names of slices and texts of arguments; their numbers count from 1."""
    texts = rows.texts
    categories = texts["category"].str.split(",").explode().unique().sort().to_list()
    names = texts["name"].unique().sort().to_list()
    arguments = pl.concat([texts[name].cast(pl.String).rename("text") for name in TEXTS])
    return categories, names, arguments.drop_nulls().unique().sort().to_list()


def _interned(categories: list[str], names: list[str], texts: list[str]) -> bytes:
    tables = (
        (_CATEGORIES, categories),
        (_NAMES, names),
        (_ARGUMENT_NAMES, _ARGUMENTS),
        (_ARGUMENT_TEXTS, texts),
    )
    entries = []
    for field, table in tables:
        if table:
            number = integer(1, np.arange(1, len(table) + 1))
            text = message(2, (strings(each.encode() for each in table),))
            entries.append(joined(message(field, (*number, *text))).data.tobytes())
    return _packet(one_integer(_FLAGS, _CLEARED), one_message(_INTERNED, *entries))


def _numbers(column: pl.Series, table: list[str]) -> Integers:
    """The number of each text in its table, 0: null."""
    number = pl.Series(range(1, len(table) + 1), dtype=pl.Int64)
    found = column.replace_strict(pl.Series(table, dtype=pl.String), number, default=0)
    return found.fill_null(0).to_numpy()


def _heads(rows: TraceRows, categories: list[str], names: list[str], texts: list[str]) -> Ragged:
    """Of each distinct text the fields of its TrackEvent: categories, name, arguments in words."""
    table = rows.texts
    code = {name: number for number, name in enumerate(categories, 1)}
    coded = {
        listed: b"".join(one_integer(_CATEGORY, code[one]) for one in listed.split(","))
        for listed in table["category"].unique()
    }
    each = strings(coded[listed] for listed in table["category"])
    fields = [each, *integer(_NAME, _numbers(table["name"], names))]
    for number, name in enumerate(TEXTS, 1):
        text = _numbers(table[name].cast(pl.String), texts)
        there = text > 0
        said = integer(_INTERNED_TEXT, text[there])
        fields.append(joined(_argument(number, said)).at(there))
    return joined(tuple(fields))


def _argument(number: int, value: Pieces) -> Pieces:
    name = same(one_integer(_ARGUMENT_NAME, number), len(value[0].lengths))
    return message(_ARGUMENT, (name, *value))


# ---- events --------------------------------------------------------------------------------------


def _in_order(rows: TraceRows) -> Iterator[pl.DataFrame]:
    """Begins and ends in the order of time."""
    flows = rows.slices.flows
    slice_ = pl.col("slice")
    slices = rows.slices.frame.with_row_index("slice").with_columns(
        flow=slice_.replace_strict(flows["from_slice"], flows["call"], default=None),
        last_flow=slice_.replace_strict(flows["to_slice"], flows["call"], default=None),
    )
    begins = (
        slices.drop("text", *NUMBERS, strict=False)
        .hstack(rows.frame)
        .with_columns(
            type=pl.when("has_end").then(_BEGIN).otherwise(_INSTANT),
            ns="begin_ns",
            order="begin_order",
        )
    )
    ends = slices.filter("has_end").select(
        "track", type=pl.lit(_END), ns="end_ns", order="end_order"
    )
    columns = ["track", "type", "ns", "order", "text", "flow", "last_flow", *NUMBERS, "duration_us"]
    events = pl.concat([begins.select(columns), ends], how="diagonal").sort("order")
    return events.iter_slices(PART_ROWS)


def _packets(events: pl.DataFrame, heads: Ragged) -> bytes:
    """TracePackets of begins and ends."""
    fields = [
        *integer(_TYPE, events["type"].to_numpy()),
        *integer(_TRACK_ID, _track_id(0) + events["track"].to_numpy()),
        heads.take(events["text"].fill_null(-1).to_numpy()),
    ]
    for number, name in enumerate((*NUMBERS, "duration_us"), len(TEXTS) + 1):
        known = events[name].drop_nulls().to_numpy()
        is_float = known.dtype == np.float64
        value = eight_bytes(_FLOAT, known) if is_float else integer(_SIGNED, known)
        fields.append(_spread(_argument(number, value), events[name]))
    for field, name in ((_FLOW, "flow"), (_LAST_FLOW, "last_flow")):
        flow = events[name].drop_nulls().cast(pl.Int64).to_numpy() + 1  # 0 is not an id
        fields.append(_spread(eight_bytes(field, flow), events[name]))
    return _timed(events["ns"], tuple(fields))


def _spread(values: Pieces, column: pl.Series) -> Ragged:
    """Values of those rows that have one, and nothing for the others."""
    return joined(values).at(column.is_not_null().to_numpy())


def _timed(ns: pl.Series, event: Pieces) -> bytes:
    """TracePackets with these TrackEvents."""
    fixed = one_integer(_SEQUENCE, 1) + one_integer(_FLAGS, _NEEDS_STATE)
    time = integer(_TIMESTAMP, ns.to_numpy())
    packet = (*time, same(fixed, len(ns)), *message(_EVENT, event))
    return joined(message(_PACKET, packet)).data.tobytes()


# ---- counters ------------------------------------------------------------------------------------


def _values(rows: TraceRows) -> list[tuple[str, pl.Series, pl.Series]]:
    """Counters: name, times, values."""
    open_, share = rows.open_ops, rows.rewritten_share
    return [
        ("open ops, eager", open_["ns"], open_["eager"]),
        ("open ops, graph", open_["ns"], open_["graph"]),
        (f"{rows.kernels} share, %", share["ns"], share["percent"]),
    ]


def _counters(rows: TraceRows) -> Iterator[bytes]:
    for number, (_, ns, values) in enumerate(_values(rows)):
        track = one_integer(_TRACK_ID, _track_id(rows.slices.tracks.height + number))
        for part in pl.DataFrame({"ns": ns, "value": values}).iter_slices(PART_ROWS):
            value = part["value"]
            if value.dtype.is_float():
                said = eight_bytes(_DOUBLE, value.to_numpy())
            else:
                said = integer(_COUNT, value.cast(pl.Int64).to_numpy())
            head = same(one_integer(_TYPE, _COUNTER) + track, part.height)
            yield _timed(part["ns"], (head, *said))
