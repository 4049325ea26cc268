"""The events of a log as typed tables, and the account of every line: what the model works on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.errors import InputError, NothingRecognised
from tflogscope.events import coverage
from tflogscope.events.messages import Messages
from tflogscope.events.onednn import read_verbose
from tflogscope.events.onednn_cut import join_cut
from tflogscope.events.onednn_header import header_facts
from tflogscope.events.pairing import numbered, pair_in_order, read_definitions
from tflogscope.events.plugin_lines import late_plugins, with_plugin_lines
from tflogscope.events.repeats import repeat_of, repeated_lines
from tflogscope.events.scan import Scan, SourceSpan
from tflogscope.events.store import texts_of
from tflogscope.events.times import Clocks, without_damaged
from tflogscope.events.verbose_lines import VerboseLines
from tflogscope.grammar.model import Grammar, Prefix
from tflogscope.native import library as c

PLACES = c.PLACES
"""`at` is PLACES times the number of a line, and the place of a record in its line."""

MOST_UNREAD = 1 << 18
"""Lines of oneDNN that can't be read and have a row: a made-up log may have any number of these."""

_MANY_FALLS = 10  # times in which the next record is older, to each in which it is newer
_FEW_RECORDS, _LEAST_FALLS = (
    1000,
    2,
)  # all are looked at; one that is older may be of another thread
_QUARTER_HOUR = 15 * 60 * 1_000_000  # µs; all zones' offsets are multiples of it
NOWHERE = np.iinfo(np.int64).max
WARNS_EAGER = "functions_run_eagerly"
"""Python's warning that tf.config.run_functions_eagerly(True) is set."""
_IN_TORN, _ENDED = 1 << 16, 1 << 17  # of a verbose line, beside the number of its fields


class Events:
    """All events of one run.

    `at` is the key of a record: PLACES × its line (all lines of all sources, from 0) + its place
    among the records of that line. Times are µs since the epoch as the log prints them (null:
    none).
    """

    def __init__(self, scan: Scan, grammar: Grammar) -> None:
        self.grammar = grammar
        self.spans: list[SourceSpan] = scan.spans
        self.dialects: Sequence[Prefix] = scan.grammar.dialects
        self._hot_messages = scan.grammar.messages
        self._files = scan.grammar.files
        self._store = scan.store
        self._pair_odds()
        clocks = Clocks(scan.store, self.dialects, self.spans)
        self.runs = self._runs(clocks)
        self._store.release("nodes")
        self._records = pl.DataFrame(
            {
                "at": self._store.column("texts", "at"),
                "time": clocks.column("texts"),
                "site": self._store.column("texts", "site"),
                "text": self._store.column("texts", "text"),
            }
        )
        lone = self._lone
        self._lone_ends = pl.DataFrame(
            {
                "at": lone["at"],
                "time": clocks.of(lone["clock"], lone["micros"]),
                "site": lone["site"],
            }
        )

    def _pair_odds(self) -> None:
        """Pair starts and ends of keys that are not simply a start and then its end."""
        odds = np.sort(self._store.odds(), order="at")
        is_start = odds["run"] >= 0
        start, end = pair_in_order(numbered(odds["key"]), is_start)
        runs, ends = odds["run"][is_start][start], odds[~is_start]
        self._lone, ends = np.delete(ends, end), ends[end]
        for name in ("at", "clock", "micros", "site"):
            self._store.column("nodes", f"end_{name}")[runs] = ends[name]

    def _runs(self, clocks: Clocks) -> pl.DataFrame:
        """Runs of graph nodes: at, time, site, end_…, step and definition.

        The last two are rows of `steps`, which has their ids, and of `definitions`.
        """
        column = self._store.column
        end_at = pl.Series(column("nodes", "end_at"))
        self.steps, step = _numbered(column("nodes", "number"))
        return pl.DataFrame(
            {
                "at": column("nodes", "at"),
                "time": clocks.column("nodes"),
                "end_at": end_at.set(end_at < 0, None),
                "end_time": clocks.column("nodes", "end_"),
                "end_site": column("nodes", "end_site"),
                "site": column("nodes", "site"),
                "step": step,
                "definition": column("nodes", "text"),
            }
        )

    # ---- tables --------------------------------------------------------------------------------

    @cached_property
    def definitions(self) -> pl.DataFrame:
        """Distinct node definitions by code: node, op, attributes, inputs, dead, device, whole."""
        return read_definitions(texts_of(self._store, "nodes"))

    @cached_property
    def tensors(self) -> pl.DataFrame:
        """What nodes put out (`MemoryLogTensorOutput`): at, step, text (row of `tensor_texts`)."""
        column = self._store.column
        return pl.DataFrame(
            {
                "at": column("tensors", "at"),
                "step": column("tensors", "number"),
                "text": column("tensors", "text"),
            }
        )

    @cached_property
    def tensor_texts(self) -> pl.Series:
        """Distinct pieces of tensor outputs, from `kernel_name:` to the end of the shape."""
        return texts_of(self._store, "tensors")

    @property
    def verbose_count(self) -> int:
        """How many verbose lines of oneDNN there are."""
        return len(self._store.column("verbose", "at"))

    @property
    def verbose(self) -> VerboseLines:
        """Verbose lines of oneDNN. Those that are cut have their rest, if it is found.

        They are not kept, as a line may be short and each takes as much as others do.
        """
        column = self._store.column
        number = column("verbose", "number")
        lines = VerboseLines(
            at=column("verbose", "at").astype(np.int64),
            first=column("verbose", "text").astype(np.int64),
            count=number & (_IN_TORN - 1),
            codes=self._store.fields().view(np.int32),
            texts=texts_of(self._store, "verbose"),
        )
        torn = np.flatnonzero(number & _IN_TORN)
        newline = number[torn] & _ENDED != 0
        return join_cut(lines, torn, newline, self._lines("before"), self.grammar.verbose)

    @cached_property
    def primitives(self) -> pl.DataFrame:
        """The verbose lines as read, one row each: see `onednn.read_verbose`, `plugin_lines`."""
        lines = read_verbose(self.verbose, self.grammar.verbose, most_unread=MOST_UNREAD)
        time = without_damaged(lines["time"], lines["at"].to_numpy(), self.spans)
        lines.replace_column(lines.get_column_index("time"), time)
        return with_plugin_lines(lines, self.messages)

    @cached_property
    def unread(self) -> NDArray[np.int64]:
        """Places of all lines of oneDNN that can't be read; not all have a row in `primitives`."""
        at = self._store.column("verbose", "at")
        primitives = self.primitives
        read = primitives["at"].filter(primitives["reason"].is_null())
        unread: NDArray[np.int64] = at[~pl.Series(at).is_in(read.implode()).to_numpy()]
        return unread

    @cached_property
    def late_plugins(self) -> tuple[str, ...]:
        """Ids of plug-ins whose lines are not where they were written (`plugin_lines`)."""
        return late_plugins(self.messages, lambda: self.record_times)

    @cached_property
    def failures(self) -> pl.DataFrame:
        """Lines `[[{{node N}}]]` that name the node of a failed status: at, text."""
        return self._lines("failures")

    def _lines(self, table: str) -> pl.DataFrame:
        texts = texts_of(self._store, table)
        column = self._store.column
        return pl.DataFrame({"at": column(table, "at"), "text": texts[column(table, "text")]})

    # ---- threads -------------------------------------------------------------------------------

    @cached_property
    def threads(self) -> NDArray[np.int64]:
        """The OS thread id of each site code, -1 where the log prints none."""
        return self._store.entries("sites")["mark"].astype(np.int64)

    @cached_property
    def has_threads(self) -> bool:
        """Whether the executor's records say which thread wrote them."""
        sites = self.runs["site"] if self.runs.height else self._records["site"]
        threads = self._thread_of(sites.filter(sites < len(self.threads)))  # others have no prefix
        return bool(len(threads)) and bool((threads >= 0).mean() > 0.5)

    def with_threads(self, records: pl.DataFrame) -> pl.DataFrame:
        """Put the thread in the place of the column `site`."""
        thread = pl.Series("thread", self._thread_of(records["site"]))
        return pl.DataFrame([*(record for record in records if record.name != "site"), thread])

    def _thread_of(self, sites: pl.Series) -> NDArray[np.int64]:
        codes = np.minimum(sites.to_numpy(), len(self.threads))  # c.NONE: no prefix
        threads: NDArray[np.int64] = np.append(self.threads, -1)[codes]
        return threads

    # ---- messages ------------------------------------------------------------------------------

    @cached_property
    def _messages(self) -> Messages:
        return Messages(
            self.grammar,
            texts_of(self._store, "texts"),
            self._store.entries("texts")["tag"],
            self._files,
            self.with_threads(self._records),
        )

    def messages(self, *ids: str) -> pl.DataFrame:
        """Records of one message, or of several with the same fields: see `Messages.of`."""
        return self._messages.of(*ids)

    @cached_property
    def seen(self) -> set[str]:
        """Ids of all messages (and literals of markers) of which the log has one."""
        hot = {
            name
            for span in self.spans
            for name, count in zip(self._hot_messages, span.classes[c.HOT :], strict=False)
            if count
        }
        return hot | {*self._messages.ids}

    # ---- time ----------------------------------------------------------------------------------

    def _executor_records(self) -> list[pl.DataFrame]:
        """Starts, ends, and ends without a start: at, time, site."""
        names = ["at", "time", "site"]
        ends = pl.DataFrame([self.runs[f"end_{name}"].alias(name) for name in names])
        return [self.runs[names], ends, self._lone_ends]

    def executor_time_from(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The time of the first record of the executor from each place on; NaN: there is none."""
        first, times = np.full(len(places), NOWHERE), np.full(len(places), np.nan)
        for records in self._executor_records():
            time = records["time"].to_numpy()
            timed = ~np.isnan(time)
            at, time = records["at"].to_numpy()[timed].astype(np.int64), time[timed]
            order = np.argsort(at, kind="stable")  # most are in order
            place = np.searchsorted(at, places, sorter=order)
            there = np.flatnonzero(place < len(at))
            row = order[place[there]]
            nearer = at[row] < first[there]
            there, row = there[nearer], row[nearer]
            first[there], times[there] = at[row], time[row]
        return times

    @cached_property
    def record_times(self) -> pl.DataFrame:
        """When records that are kept were written: at, time in µs, thread (-1: not printed).

        Sorted by `at`; those without a time are left out.
        """
        records = pl.concat(self._timed_records())
        return self.with_threads(records.drop_nulls("time")).sort("at")

    def records_on(self, threads: NDArray[np.int64]) -> pl.DataFrame:
        """The records of `record_times` that some threads wrote; nothing of others is copied."""
        of_site = np.append(self.threads, -1)
        wanted, frames = np.isin(of_site, threads), []
        for records in self._timed_records():
            site = np.minimum(records["site"].to_numpy(), len(self.threads))
            here = pl.Series(wanted[site]) & records["time"].is_not_null()
            at, time = (records[name].filter(here).cast(pl.Int64) for name in ("at", "time"))
            thread = pl.Series("thread", of_site[site[here.to_numpy()]])
            frames.append(pl.DataFrame([at, time, thread]))
        return pl.concat(frames)

    def next_places(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the next record of `record_times` is after each place; `NOWHERE`: there is none."""
        nearest = np.full(len(places), NOWHERE)
        for records in self._timed_records():
            at = np.sort(records["at"].filter(records["time"].is_not_null()).to_numpy())
            row = np.searchsorted(at, places, "right")
            nearest = np.minimum(nearest, np.append(at, NOWHERE)[row])
        return nearest

    def _timed_records(self) -> list[pl.DataFrame]:
        return [*self._executor_records(), self._records[["at", "time", "site"]]]

    def time_span(self) -> tuple[int | None, int | None]:
        """The first and the last time of any record that is kept, in µs; None if none has one."""
        frames = (self.runs, self._records, self._lone_ends)
        times = [self.runs["end_time"], *(frame["time"] for frame in frames)]
        timed = [time for time in times if time.count()]
        first, last = [time.min() for time in timed], [time.max() for time in timed]
        return min(first, default=None), max(last, default=None)  # type: ignore[type-var, return-value]

    @cached_property
    def utc_offset(self) -> int:
        """µs from UTC, in which oneDNN counts, to the time in which the log's records do."""
        times = self.primitives.select("at", "time").drop_nulls()
        if times.is_empty():
            return 0
        before = self.record_times.rename({"time": "record"})
        near = times.join_asof(before, on="at").drop_nulls("record")
        if near.is_empty():
            return 0
        distance = float(np.median(near["record"] - near["time"]))
        return round(distance / _QUARTER_HOUR) * _QUARTER_HOUR

    @cached_property
    def repeated(self) -> tuple[int, int] | None:
        """Where the same text begins again, and where it began first (`at`); None: nowhere."""
        starts = self.runs[["at", "time", "step", "definition"]]
        places = [place for place in map(repeat_of, (starts, self._records)) if place]
        return min(places, default=None) or repeated_lines(self.primitives)

    # ---- coverage ------------------------------------------------------------------------------

    @cached_property
    def coverage(self) -> pl.DataFrame:
        """The `coverage` table of the contract."""
        unknown = self._messages.unknown
        messages = self.grammar.by_id
        levels = (messages[id_].level for id_ in self.seen & messages.keys())
        return coverage.coverage_table(
            self.spans,
            np.concatenate([unknown, self.unread]),
            self.messages(WARNS_EAGER)["at"].to_numpy(),
            vlog_level=max(levels, default=None),
            tensorflow_dialect=coverage.dialects(
                self.spans, self.dialects, has_threads=self.has_threads
            ),
            onednn_version=self.onednn_version,
        )

    @cached_property
    def onednn_version(self) -> str | None:
        """The version that oneDNN's first header line names, None if there is none."""
        return header_facts(self.primitives).version

    def require_usable(self) -> None:
        """Raise NothingRecognised if no line of any source is a record that is known.

        Raise InputError if the records are in the opposite order.
        """
        if not self.coverage["recognised"].sum():
            raise NothingRecognised(
                self._nothing(),
                ", ".join(span.name for span in self.spans),
                "Record with TF_CPP_MAX_VLOG_LEVEL=2 ONEDNN_VERBOSE=1 and both streams in one file "
                "(python program.py > run.log 2>&1).",
            )
        records = self._records
        if self.coverage["records"].sum() <= _FEW_RECORDS:
            records = pl.concat(self._timed_records()).sort("at")
        times = records["time"].drop_nulls().to_numpy()
        falls, rises = (times[1:] < times[:-1]).sum(), (times[1:] > times[:-1]).sum()
        if falls >= _LEAST_FALLS and falls > _MANY_FALLS * rises:
            raise InputError(
                "records are in reverse order, newest first",
                ", ".join(span.name for span in self.spans),
                "Reverse it: tac run.log | tflogscope analyze -",
            )

    def _nothing(self) -> str:
        """What is in a log of which nothing can be read."""
        others = [
            f"{count:,} {kind}"
            for kind, words in (("unknown", "in an unknown format"), ("ignored", "unused"))
            if (count := self.coverage[kind].sum())
            for kind in [f"record{'' if count == 1 else 's'} {words}"]
        ]
        there = f" ({', '.join(others)})" if others else ""
        return f"no TensorFlow or oneDNN record can be parsed{there}"


def _numbered(values: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """The distinct values in the order of appearance, and the number among them of each.

    Records of one step mostly follow each other, so only the heads of equal values are sorted.
    """
    head = np.ones(len(values), bool)
    head[1:] = values[1:] != values[:-1]
    distinct, first, which = np.unique(values[head], return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.uint32)
    number[order] = np.arange(len(order))
    lengths = np.diff(np.flatnonzero(head), append=len(values))
    return distinct[order].astype(np.int64), np.repeat(number[which], lengths)
