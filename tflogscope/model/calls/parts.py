"""Which of several files are parts of one run, and which are runs of their own.

Files are parts of one run unless something proves that another process wrote one: a log that was
cut anywhere stays one run, and the counts of two runs don't add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from tflogscope.events.events import Events
from tflogscope.events.onednn_header import VERSION
from tflogscope.model.common.origin import read_header
from tflogscope.model.executions.executing import read_executing
from tflogscope.model.executions.executions import with_places
from tflogscope.sources.source import Source
from tflogscope.sources.streams import of_one_input

# core/util/port.cc and core/platform/cpu_feature_guard.cc: before any device is made.
AT_START = ("onednn_on", "cpu_features", "cpu_features_onednn", "cpu_features_unused")
_END = 1 << 62
_SAID = "lines name their process"
_LEAST_OVERLAP = 100_000
"""µs in which two files have executions. Threads of one process write a bit out of order."""


class Part(NamedTuple):
    """Files of one run, and why they are taken as that.

    `in_order`: their names by their times, where they are not named so.
    """

    sources: tuple[Source, ...]
    why: str
    in_order: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The names of the files."""
        return ", ".join(source.name for source in self.sources)


class _File(NamedTuple):
    source: Source
    recorded: bool  # has a header of `record`
    started: tuple[str, ...]  # what says here that it starts, before it does anything
    did: tuple[str, ...]  # what does something here
    first: int | None  # the time of the first record
    times: tuple[int, int] | None  # of the first and the last execution of TensorFlow
    threads: frozenset[int]


def read_parts(events: Events, sources: Sequence[Source]) -> list[Part]:
    """The runs that several sources are, in their order."""
    if len(sources) < 2:
        return [Part(tuple(sources), "")]
    files = _files(events, sources)
    groups: list[list[_File]] = []
    for file in sorted(files, key=lambda other: (other.first is None, other.first or 0)):
        # What goes on after the start of several runs is of the last one, if it has times.
        for group in groups if file.first is None else reversed(groups):
            if not _other_run(file, group):
                group.append(file)
                break
        else:
            groups.append([file])
    groups.sort(key=lambda group: min(map(files.index, group)))
    return [
        Part(
            tuple(file.source for file in files if file in group),
            _why(group, groups),
            _in_order([file for file in files if file in group]),
        )
        for group in groups
    ]


def parts_of_one(sources: Sequence[Source]) -> list[Part]:
    """The runs that processes of one input are (`of_one_input`)."""
    return [Part((source,), f"{_SAID}: {source.process}") for source in sources]


def _files(events: Events, sources: Sequence[Source]) -> list[_File]:
    names = ("at", "time")
    # The default sink writes all of these: those of one process are not in two files at one time.
    ran = [read_executing(events).select(names), events.runs.select(names)]
    executions = with_places(events.spans, pl.concat(ran).sort("at"))
    lines = events.primitives
    headers = lines.filter(event="info").filter(pl.col("message").str.contains(VERSION))
    starts = {"TensorFlow": events.messages(*AT_START), "oneDNN": headers}
    start_lines = {
        name: _first_lines(with_places(events.spans, frame.select("at")))
        for name, frame in starts.items()
    }
    primitives = with_places(events.spans, lines.filter(event="exec").select("at"))
    did = {"TensorFlow": _first_lines(executions), "oneDNN": _first_lines(primitives)}
    records = with_places(events.spans, events.record_times)
    files = []
    for source in sources:
        name = source.name
        here, times = (
            frame.filter(source=name) for frame in (records, executions.drop_nulls("time"))
        )
        started = (
            what for what in starts if start_lines[what].get(name, _END) < did[what].get(name, _END)
        )
        files.append(
            _File(
                source,
                recorded=read_header([source]) is not None,
                started=tuple(started),
                did=tuple(what for what in starts if name in did[what]),
                first=here["time"][0] if here.height else None,
                times=(times["time"][0], times["time"][-1]) if times.height else None,
                threads=frozenset(here.filter(pl.col("thread") >= 0)["thread"].unique().to_list()),
            )
        )
    return files


def _first_lines(places: pl.DataFrame) -> dict[str, int]:
    return dict(places.group_by("source").agg(pl.col("line").min()).rows())


def _other_run(file: _File, group: Sequence[_File]) -> str:
    """Why a file is not of the process that wrote others; empty if nothing shows that."""
    if any(of_one_input([file.source, peer.source]) for peer in group):
        return f"{_SAID}: {file.source.process}"
    if file.recorded and any(peer.recorded for peer in group):
        return "each begins with the first line of a recording"
    # Before thread ids: in containers, each run has the same. Some releases say it twice, before
    # they do anything.
    for name in file.started:
        if any(name in peer.started for peer in group) and any(name in peer.did for peer in group):
            return f"{name} started in each"
    return "their times overlap" if any(_at_one_time(file, peer) for peer in group) else ""


def _at_one_time(one: _File, other: _File) -> bool:
    if one.threads & other.threads or one.times is None or other.times is None:
        return False
    first, last = max(one.times[0], other.times[0]), min(one.times[1], other.times[1])
    shorter = min(times[1] - times[0] for times in (one.times, other.times))
    return last - first > max(_LEAST_OVERLAP, shorter / 2)


def _in_order(named: list[_File]) -> tuple[str, ...]:
    """See `Part.in_order`."""
    timed = [file for file in named if file.first is not None]
    ordered = sorted(timed, key=lambda file: file.first or 0)
    return tuple(file.source.name for file in ordered) if ordered != timed else ()


def _why(group: list[_File], groups: list[list[_File]]) -> str:
    if len(groups) > 1:
        others = (other for other in groups if other is not group)
        reasons = (_other_run(file, other) for other in others for file in group)
        return next(filter(None, reasons), "")
    if len(group) < 2:
        return ""
    one, other = group[:2]
    if one.threads & other.threads:
        return "they share thread ids"
    if one.times is None or other.times is None:
        return "only one has TensorFlow executions"
    return "the times of one follow the other's"
