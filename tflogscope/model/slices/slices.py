"""Slices: executions and primitives as trace viewers draw them, on tracks, in ns from the start.

A track is a thread; or, where the log has no threads, a lane in which nothing overlaps. On a track
slices nest: a call holds its ops, an op its primitives.
"""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np
import polars as pl

from tflogscope.model.common.frames import Integers, ranks
from tflogscope.model.common.pairing import mixed_keys
from tflogscope.model.executions.executions import spelled
from tflogscope.model.slices.lanes import assign_lanes, nests
from tflogscope.model.slices.primitive_slices import FARTHEST, primitive_slices

_CALL, _EAGER, _GRAPH = range(3)
_NO_THREAD = -1
_TRIED = 20  # tracks that are looked at for a lane, and lanes of one
_MOST_LINES = 1 << 40  # of one source


class Slices(NamedTuple):
    """What a run looks like on a time axis.

    `frame`, one row per slice, in the order of their begins:
        row (of the timeline; of a primitive that of its op, null: not known), primitive (row of
        the `primitives` table; null: an execution), track, begin_ns, end_ns, has_end (false: when
        it ended is not known, and end_ns is begin_ns), placed (when a primitive ran is worked out
        from its line), begin_order, end_order (places in the order of all begins and ends; null:
        tracing and what else is drawn beside what ran); of executions also text (row of `texts`),
        line, end_line, call, step and work_us as in the timeline.
    `texts`: what is said of executions in words, the distinct ones: see `alike`.
    `tracks`, one row per track, in the order to show them: track, name, thread (null: none), tid
        (a number of its own: the thread's, or one that no thread has).
    `clock` says what the axis is: `time`; `lines` where the log has no times, each line counts as
    1 µs; `durations` where it has nothing but lines of oneDNN without times, drawn back to back.
    `origin` is the time of ns 0 in µs since the epoch, as the log prints it; None: no times.
    `left_out` counts executions that have no time in a log that has times.
    """

    frame: pl.DataFrame
    texts: pl.DataFrame
    tracks: pl.DataFrame
    clock: str
    origin: int | None
    left_out: int


def read_slices(executions: pl.DataFrame, primitives: pl.DataFrame) -> Slices:
    """Lay out a run. Branches that were not taken are left out: nothing ran.

    Args:
        executions: the `timeline` table with texts as categories, and stack.
        primitives: the `primitives` table, and execution (row of the timeline; null: not known).
    """
    executions, primitives = _with_places(executions, primitives)
    clock = _clock(executions, primitives)
    ran = _rows(executions, clock)
    timed = ran.drop_nulls("begin")
    left_out = ran.height - timed.height
    # From here on times count from one of them: since 1970, ns reach to 2262 only. What is farther
    # away has a damaged date.
    near = _some_time(timed, primitives) if clock == "time" else 0
    begin, end = ((pl.col(name) - near).clip(-FARTHEST, FARTHEST) for name in ("begin", "end"))
    timed = _on_tracks(timed.with_columns(begin, end))
    inner = primitive_slices(timed, primitives, _times(executions), near)
    frame, tracks = _with_tracks(timed, inner)
    frame = _in_order(frame)
    origin = int(frame["begin_ns"].to_numpy().min()) if frame.height else 0
    number, texts = alike(executions)
    row = pl.when(pl.col("primitive").is_null()).then(pl.col("row").cast(pl.UInt32))
    facts = executions.select("line", "end_line", "call", "step", "work_us", text=pl.Series(number))
    frame = frame.with_columns(pl.col("begin_ns", "end_ns") - origin).hstack(
        facts[frame.select(row).to_series()]
    )
    return Slices(
        frame=frame,
        texts=texts,
        tracks=tracks,
        clock=clock,
        origin=near + origin // 1000 if clock == "time" else None,
        left_out=left_out,
    )


def _with_places(
    executions: pl.DataFrame, primitives: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add `at` and `end_at`: places that can be compared across sources."""
    texts = pl.col("source").cast(pl.String)
    sources = pl.concat([table.select(texts) for table in (executions, primitives)])
    order = pl.Enum(sources["source"].unique(maintain_order=True))
    first = texts.cast(order).to_physical().cast(pl.Int64) * _MOST_LINES
    at = first + pl.col("line").cast(pl.Int64)
    end_at = first + pl.col("end_line").cast(pl.Int64)
    return executions.with_columns(at=at, end_at=end_at), primitives.with_columns(at=at)


def _times(executions: pl.DataFrame) -> pl.DataFrame:
    """When each record of an execution was written: at, time (µs), in the order of the log."""
    begun = executions.select("at", time=pl.col("start").to_physical())
    ended = executions.select(at="end_at", time=pl.col("end").to_physical())
    return pl.concat([begun, ended]).drop_nulls("at").sort("at")


def _clock(frame: pl.DataFrame, primitives: pl.DataFrame) -> str:
    if frame["start"].count():
        return "time"
    if frame.height:
        return "lines"
    return "time" if primitives["time"].count() else "durations"


def _some_time(ran: pl.DataFrame, primitives: pl.DataFrame) -> int:
    """The time of something that ran, in µs since the epoch; 0 if nothing did."""
    times = ran["begin"] if ran.height else primitives["time"].to_physical().drop_nulls()
    return int(times[len(times) // 2]) if len(times) else 0


def _rows(executions: pl.DataFrame, clock: str) -> pl.DataFrame:
    """Executions that ran: row, class, thread, at, end_at, has_end, begin and end in µs."""
    class_ = (
        pl.when(pl.col("kind") == "call")
        .then(_CALL)
        .when(pl.col("mode") == "eager")
        .then(_EAGER)
        .otherwise(_GRAPH)
    )
    begin, end = (pl.col(name).to_physical() for name in ("start", "end"))
    if clock == "lines":
        begin, end = (pl.col(name).cast(pl.Int64) for name in ("line", "end_line"))
    has_end = end >= begin
    return executions.select(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("row"),
        class_.cast(pl.Int64).alias("class"),
        pl.col("thread").cast(pl.Int64).fill_null(_NO_THREAD),
        "at",
        "end_at",
        "status",
        has_end=has_end.fill_null(value=False),
        begin=begin,
        end=pl.when(has_end).then(end).otherwise(begin),
    ).filter(pl.col("status") != "dead")


def _on_tracks(ran: pl.DataFrame) -> pl.DataFrame:
    """Add the track: a number, those of one thread one after the other."""
    begin, end = _ranks(ran)
    thread, class_ = ran["thread"].to_numpy(), ran["class"].to_numpy()
    lane = assign_lanes(thread * 3 + class_, begin, end)
    seen = ran.select(pl.col("begin").min().over("thread")).to_series().to_numpy()
    order = np.lexsort((begin, lane, class_, thread, seen))
    keys = np.stack([thread[order], class_[order], lane[order]])
    heads = np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(0))[: len(order)])
    parts = np.split(order, heads[1:]) if len(order) else []
    track = np.zeros(len(begin), np.int64)
    tracks: list[list[Integers]] = []  # lanes of each track
    owner: tuple[int, bool] | None = None
    kind: tuple[tuple[int, bool], int] | None = None
    first, tried = 0, list[int]()
    for part in parts:
        here, class_here = int(thread[part[0]]), int(class_[part[0]])
        # Without threads nothing says that a node ran inside the call above it.
        owns = (here, here == _NO_THREAD and class_here == _GRAPH)
        if owns != owner:
            owner, first = owns, len(tracks)
        if (owns, class_here) != kind:
            kind, tried = (owns, class_here), list(range(first, len(tracks)))
        place = _place_of(part, tracks, tried, begin, end)
        # Eager ops nest on one thread: Python code that an eager op runs may dispatch others. Of
        # other kinds a track has one lane.
        if here != _NO_THREAD and class_here == _EAGER:
            tried += [place] if place == len(tracks) else []
        elif place < len(tracks):
            tried.remove(place)
        if place == len(tracks):
            tracks.append([])
        tracks[place].append(part)
        track[part] = place
    return ran.with_columns(track=track, is_leaf=_is_leaf(track, begin, end))


def _is_leaf(track: Integers, begin: Integers, end: Integers) -> pl.Series:
    """Whether nothing on its track is inside a slice: the next one begins after its end."""
    order = np.lexsort((begin, track))
    leaf = np.ones(len(order), bool)
    here, following = order[:-1], order[1:]
    leaf[here] = (track[here] != track[following]) | (begin[following] > end[here])
    return pl.Series(leaf)


def _place_of(
    part: Integers, tracks: list[list[Integers]], tried: list[int], begin: Integers, end: Integers
) -> int:
    """The first track of those to be tried in which a lane nests; else a new one.

    Not more than a few are: a program has few kinds of things at once on a thread, and a log that
    was made to have thousands should not take a time that grows with their square.
    """
    for place in tried[:_TRIED]:
        lanes = tracks[place]
        if len(lanes) < _TRIED and all(
            nests(begin[part], end[part], begin[lane], end[lane]) for lane in lanes
        ):
            return place
    return len(tracks)


def _ranks(ran: pl.DataFrame) -> tuple[Integers, Integers]:
    """Begins and ends as places in the order of all; at the same µs the log's lines decide."""
    begin, end = ran["begin"].to_numpy(), ran["end"].to_numpy()
    rank = ranks(_sequence(ran), np.concatenate([begin, end]))
    return rank[: len(begin)], rank[len(begin) :]


def _sequence(ran: pl.DataFrame) -> Integers:
    """What decides at the same time: the line of the record, of an end that is lost the begin's."""
    at, end_at = ran["at"].to_numpy(), ran["end_at"].fill_null(-1).to_numpy()
    ended = ran["has_end"].to_numpy() & (end_at > at)
    return np.concatenate([4 * at, np.where(ended, 4 * end_at, 4 * at) + 3])


def _with_tracks(ran: pl.DataFrame, inner: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Executions and primitives together, and the tracks by name."""
    sequence = _sequence(ran)
    outer = ran.select(
        pl.col("row").cast(pl.Int64),
        pl.lit(None, pl.Int64).alias("primitive"),
        "track",
        begin_ns=pl.col("begin") * 1000,
        end_ns=pl.col("end") * 1000,
        has_end="has_end",
        placed=pl.lit(False),
        sequence=pl.Series(sequence[: ran.height]),
        end_sequence=pl.Series(sequence[ran.height :]),
        place=pl.lit(0, pl.Int64),
    )
    lanes = ran.group_by("track").agg(pl.col("thread", "class").min()).sort("track")
    name = (
        pl.when(pl.col("thread") >= 0)
        .then(pl.format("thread {}", "thread"))
        .when(pl.col("class") == _GRAPH)
        .then(pl.lit("in graphs"))
        .otherwise(pl.lit("eager ops and calls"))
    )
    tracks = lanes.select("track", name=name, thread=pl.when(pl.col("thread") >= 0).then("thread"))
    lost = inner.filter(pl.col("track") >= lanes.height)["track"].unique().sort()
    more = pl.DataFrame({"track": lost}).with_columns(name=pl.lit("oneDNN"))
    both = pl.concat([outer, inner.select(outer.columns)])
    return both, with_ids(pl.concat([tracks, more], how="diagonal"))


def with_ids(tracks: pl.DataFrame) -> pl.DataFrame:
    """Number tracks of one name; add `tid`: that of the thread on its first track.

    On others it is one behind those of threads. Viewers that sort tracks by it begin with a thread.
    """
    threads = tracks["thread"].to_list()
    free = count(1 + max((thread for thread in threads if thread is not None), default=0))
    first = tracks["thread"].is_not_null() & tracks["thread"].is_first_distinct()
    tids = [thread if is_own else next(free) for thread, is_own in zip(threads, first, strict=True)]
    again = pl.int_range(1, pl.len() + 1).over("name")
    name = pl.when(again > 1).then(pl.format("{} · {}", "name", again)).otherwise("name")
    return tracks.with_columns(name=name, tid=pl.Series(tids, dtype=pl.Int64))


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort by begin; number all begins and ends in the order of time."""
    time = np.concatenate([frame["begin_ns"].to_numpy(), frame["end_ns"].to_numpy()])
    sequence = np.concatenate([frame["sequence"].to_numpy(), frame["end_sequence"].to_numpy()])
    place = frame["place"].to_numpy()
    place = np.concatenate([2 * place, 2 * place + 1])
    rank = ranks(place, sequence, time)
    ordered = frame.drop("sequence", "end_sequence", "place").with_columns(
        begin_order=rank[: frame.height], end_order=rank[frame.height :]
    )
    return ordered.sort("begin_order")


_WORDS = (
    *("mode", "kind", "op", "kernel", "rewrite", "node", "status", "function", "function_uid"),
    *("flavour", "device", "cause", "python", "stack", "source"),
)


def alike(executions: pl.DataFrame) -> tuple[Integers, pl.DataFrame]:
    """Number the distinct descriptions of executions.

    Args:
        executions: the `timeline` table with texts as categories, and stack (row of `stacks`).

    Returns:
        Per execution the number of its description; and these: the columns of the timeline that
        are texts, function_uid, and stack.
    """
    words = executions.select(_WORDS)
    codes = words.select(pl.all().to_physical().cast(pl.Int64).fill_null(-1))
    key = mixed_keys(*(column.to_numpy() for column in codes))
    _, example, number = np.unique(key, return_index=True, return_inverse=True)
    texts = words[example]
    return number, spelled(texts)
