"""Eager ops, calls of functions, and functions being made ready, so far and right now."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from tflogscope.events.times import NO_TIME
from tflogscope.grammar.fast import extract, match_messages
from tflogscope.grammar.model import Grammar
from tflogscope.live.news import News
from tflogscope.live.sums import Sums
from tflogscope.model.names import is_function, op_of_kernel
from tflogscope.model.pairing import match_in_order

# Messages, with the field that names an op or a function.
_EXECUTING, _ENTERING = "executing_op", "entering_call"
_FIELDS = {
    _EXECUTING: "op",
    _ENTERING: "op",
    "exiting_call": "op",
    "instantiating_function": "function",
    "instantiated_function": "function",
    "component_succeeded": "function",
    "component_failed": "function",
}
_IDS = [*_FIELDS]
_FILES = ("execute.cc", "process_function_library_runtime.cc")
_KEPT = 60  # durations of a function's last calls
_OPEN = 1000  # starts that are still waited for


@dataclass(slots=True)
class Function:
    """Calls of a function so far; µs."""

    name: str
    calls: int = 0
    ended: int = 0
    total_us: int = 0
    last: deque[int] = field(default_factory=lambda: deque(maxlen=_KEPT))
    """What the last calls took."""
    order: int = -1
    """Where the log shows it for the last time."""


class _Spans:
    """Starts that no end has followed, and ends as they come."""

    def __init__(self) -> None:
        self.open = pl.DataFrame(
            schema=dict.fromkeys(("at", "time", "thread"), pl.Int64) | {"name": pl.String}
        )

    def advance(self, starts: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
        """Match what is new; return what has ended: name, at, us (null: not known)."""
        starts = pl.concat([self.open, starts]).with_row_index("row")
        # Where threads are not printed, as many as have ended: those that began first.
        count = ends.group_by("name", "thread").len("ended")
        near = starts.join(count, on=["name", "thread"], maintain_order="left").filter(
            (pl.col("thread") >= 0)
            | (pl.int_range(pl.len()).over("name", "thread") < pl.col("ended"))
        )
        found = match_in_order(near, ends, ["name", "thread"])
        row = near["row"].gather(pl.Series(found).set(pl.Series(found < 0), None))
        ended = ends.with_columns(start=row).drop_nulls("start")
        ended = ended.unique("start", keep="first", maintain_order=True)
        begin = starts["time"].gather(ended["start"])
        left = np.delete(np.arange(starts.height), ended["start"].to_numpy())
        # Of one name and thread, only the last is still open: the end of the others is lost.
        lost = ~pl.struct("name", "thread").is_last_distinct() & (pl.col("thread") >= 0)
        self.open = starts[left].filter(~lost).tail(_OPEN).drop("row")
        known = (pl.col("time") > NO_TIME) & (begin > NO_TIME) & (pl.col("time") >= begin)
        return ended.select("name", "at", us=pl.when(known).then(pl.col("time") - begin))


class Calls:
    """Counts of eager ops and calls; which functions are being made ready or run right now."""

    def __init__(self, news: News, sums: Sums, grammar: Grammar, files: tuple[str, ...]) -> None:
        self.functions: dict[str, Function] = {}
        self.last_at = -1
        """The latest record of these."""
        self._news, self._sums = news, sums
        self._files = {}  # by number, with the messages that are looked for
        for name in _FILES:
            known = grammar.files[name]
            wanted = tuple(each for each in known.messages if each.id in _IDS)
            self._files[files.index(name)] = replace(known, messages=wanted)
        self._grammar = grammar
        self._message = np.zeros(0, np.int64)  # of each text; -1: another
        self._names = pl.Series("name", [], pl.String)
        self._op = np.zeros(0, np.int64)  # of texts `Executing op`; -1: it calls a function
        self._known: set[str] = set()
        self._calls, self._making = _Spans(), _Spans()
        self._threads = np.zeros(0, np.int64)
        self._enters = self._ends = False

    def advance(self) -> None:
        """Add what is new."""
        self._threads = np.concatenate([self._threads, self._news.threads()])
        self._read_texts()
        at, clock, micros, site, text = self._news.rows(
            "texts", "at", "clock", "micros", "site", "text"
        )
        rows = np.flatnonzero(self._message[text] >= 0)
        if not len(rows):
            return
        text, clock = text[rows], clock[rows]
        is_eager = (self._message[text] == 0) & (self._op[text] >= 0)
        self._sums.add("eager", self._op[text[is_eager]])
        self._sums.add_by_clock("eager", clock[is_eager])
        self.last_at = int(at[rows[-1]])
        threads = np.append(self._threads, -1)
        records = pl.DataFrame(
            {
                "at": at[rows],
                "time": self._news.us(clock, micros[rows]),
                "thread": threads[np.minimum(site[rows], len(self._threads))],
                "name": self._names.gather(text),
                "id": self._message[text],
                "is_call": ~is_eager,
            }
        )
        self._add(records)

    @property
    def making(self) -> list[tuple[str, int]]:
        """Functions that are being made ready, and since when (NO_TIME: not known)."""
        return list(self._making.open.select("name", "time").iter_rows())

    @property
    def running(self) -> list[tuple[str, int]]:
        """The same of functions that run: where the log prints when they end."""
        if not (self._enters or self._ends):
            return []
        last = self._calls.open.unique("name", keep="last", maintain_order=True)
        return list(last.select("name", "time").iter_rows())

    def _read_texts(self) -> None:
        texts, tags = self._news.texts("texts"), self._news.tags("texts")
        distinct = pl.Series("text", texts, pl.String)
        message = np.full(len(texts), -1)
        names: list[str | None] = [None] * len(texts)
        for file, known in self._files.items():
            rows = np.flatnonzero(tags == file)
            ids = match_messages(distinct.gather(rows), known)
            for id_ in ids.drop_nulls().unique():
                mine = rows[ids.eq_missing(id_).to_numpy()]
                found = extract(distinct.gather(mine), self._grammar.message(id_))
                message[mine] = _IDS.index(id_)
                for row, name in zip(mine.tolist(), found[_FIELDS[id_]].to_list(), strict=True):
                    names[row] = name
        new = pl.Series("name", names, pl.String)
        executing = pl.Series(message == 0)
        self._known.update(new.filter(pl.Series(message > 0)).drop_nulls().to_list())
        frame = pl.DataFrame({"name": new, "executing": executing})
        frame = frame.select(
            op=op_of_kernel(pl.col("name")),
            is_op=pl.col("executing")
            & ~(is_function(pl.col("name")) | pl.col("name").is_in(list(self._known))),
        )
        is_op = frame["is_op"].fill_null(value=False).to_numpy()
        op = np.full(len(texts), -1)
        op[is_op] = self._sums.rows_of(frame["op"].filter(pl.Series(is_op)))
        self._op = np.concatenate([self._op, op])
        self._message = np.concatenate([self._message, message])
        self._names = pl.concat([self._names, new], rechunk=True)

    def _add(self, records: pl.DataFrame) -> None:
        def of(*ids: str) -> pl.DataFrame:
            rows = records.filter(pl.col("id").is_in([_IDS.index(id_) for id_ in ids]))
            return rows.filter("is_call").select("at", "time", "thread", "name")

        entering, executing = of(_ENTERING), of(_EXECUTING)
        for name, count, at in (
            executing.group_by("name", maintain_order=True)
            .agg(pl.len(), pl.col("at").last())
            .iter_rows()
        ):
            function = self.functions.setdefault(name, Function(name))
            function.calls += count
            function.order = at
        self._making.advance(of("instantiating_function"), of("instantiated_function"))
        self._drop_made(records)
        # From 2.11 on a call says when it begins and ends; before, its component says the latter.
        self._enters |= bool(entering.height)
        if self._enters:
            ended = self._calls.advance(entering, of("exiting_call"))
        else:
            ends = of("component_succeeded", "component_failed")
            ended = self._calls.advance(executing, ends)
        self._ends |= bool(ended.height)
        for name, us in ended.group_by("name", maintain_order=True).agg("us").iter_rows():
            function = self.functions.setdefault(name, Function(name))
            known = [each for each in us if each is not None]
            function.ended += len(known)
            function.total_us += sum(known)
            function.last.extend(known)

    def _drop_made(self, records: pl.DataFrame) -> None:
        """A thread that goes on has no function to make ready any more, said it or not."""
        going = records.filter(pl.col("id").is_in([_IDS.index(_EXECUTING), _IDS.index(_ENTERING)]))
        latest = going.group_by("thread").agg(going=pl.col("at").max())
        opened = self._making.open.join(latest, on="thread", how="left", maintain_order="left")
        self._making.open = opened.filter(
            pl.col("going").is_null() | (pl.col("going") < pl.col("at"))
        ).drop("going")
