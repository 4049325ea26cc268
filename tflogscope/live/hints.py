"""What goes on just now: functions that are instantiated or called, and Python that traces.

The model takes a while, and then these have changed. They follow from few records, which are looked
at as they come, each once.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from tflogscope.events.messages import Messages
from tflogscope.events.store import texts_of
from tflogscope.events.times import NO_TIME, SECOND, Integers, seconds_of
from tflogscope.live.figures import Since, short_name
from tflogscope.model.names import is_function
from tflogscope.model.node_runs import FOLDING_STEP

if TYPE_CHECKING:
    from tflogscope.live.growing import Growing

# What a record is about, whether it ends that, and the field that names it.
_MESSAGES = {
    "instantiating_function": ("instantiation", False, "function"),
    "instantiated_function": ("instantiation", True, "function"),
    "entering_call": ("call", False, "op"),
    "exiting_call": ("call", True, "op"),
    "component_succeeded": ("call", True, "function"),
    "component_failed": ("call", True, "function"),
    "executing_op": ("op", False, "op"),
    "python_node": ("node", False, "node"),
    "python_gradient": ("node", False, "node"),
}
_BEFORE_2_11 = ("component_succeeded", "component_failed")  # no other record says that a call ends
_SAYS = {"about": pl.String, "ends": pl.Boolean, "name": pl.String}


class Hints:
    """What has begun and not ended in all that `growing` has scanned.

    The log may not print threads. So a function counts as called, or instantiated, if that began
    after it ended last, and an instantiation is over when any thread dispatches an op: a hint may
    be missing then, but none is wrong for long.
    """

    def __init__(self, growing: Growing) -> None:
        self.node: str | None = None
        """The node that Python has added to a graph, if it has done nothing else since."""
        self.tracing: int | None = None
        """Since when Python seems to trace a function, µs since the epoch."""
        self.last: int | None = None
        """The time of the last record, µs since the epoch."""
        self._growing = growing
        self._seen = Counter[str]()  # lines, rows and bytes of tables, strings
        self._seconds = np.full(1, NO_TIME)  # of each clock; at the end of none
        self._texts = pl.DataFrame(schema={"text": pl.Int64, **_SAYS})
        self._open = pl.DataFrame(schema={"at": pl.Int64, "time": pl.Int64, **_SAYS})
        self._has_exits = False
        self._other = -1  # the last record that tracing does not write

    def begun(self, about: Literal["instantiation", "call"]) -> list[Since]:
        """Functions that are being instantiated, or called, and since when."""
        time = pl.col("time").replace(NO_TIME, None)
        mine = self._open.filter(about=about).select(short_name(pl.col("name")), time)
        return list(mine.iter_rows())

    def advance(self) -> None:
        """Look at what is new."""
        if self._seen["lines"] == self._growing.lines:
            return
        scan = self._growing.scan
        with scan.held():
            self._seen["lines"] = self._growing.lines
            clocks = seconds_of(*self._strings("clocks"), scan.grammar.dialects)
            self._seconds = np.concatenate([self._seconds[:-1], clocks])
            self._read_texts(*self._strings("texts"))
            self._seen["strings"] = scan.store.raw.strings.count
            at, times, text = self._rows("texts", "text")
            nodes = self._rows("nodes", "number")
        rows = pl.DataFrame({"at": at, "time": times, "text": text})
        rows = rows.join(self._texts, on="text", maintain_order="left").drop("text")
        if rows.height:
            about, name = rows.select("about", "name").row(-1)
            self.node = name if about == "node" else None
        rows = rows.filter(pl.col("about") != "node")
        self._open = _begun(pl.concat([self._open, rows]))
        self._trace(rows["at"], *nodes)

    def _trace(self, others: pl.Series, at: Integers, times: Integers, step: Integers) -> None:
        """Tracing works out shapes and constants, and records nothing else (`first_calls`).

        So do the passes of an instantiation, and a function that runs for the first time.
        """
        folding = step == FOLDING_STEP
        other = max([self._other, *others.tail(1), *at[~folding][-1:].tolist()])
        if other > self._other or self._open.height:
            self.tracing, self._other = None, other
        since = times[folding & (at > other) & (times != NO_TIME)]
        if self.tracing is None and not self._open.height and len(since):
            self.tracing = int(since[0])

    # ---- what the store has more of -------------------------------------------------------------

    def _rows(self, table: str, name: str) -> list[Integers]:
        """Place, time (or NO_TIME) and one more column of the new rows of a table."""
        first, names = self._seen[table + " rows"], ("at", "clock", "micros", name)
        at, clock, micros, more = (
            self._growing.scan.store.column(table, each)[first:].astype(np.int64) for each in names
        )
        self._seen[table + " rows"] += len(at)
        seconds = self._seconds[np.minimum(clock, len(self._seconds) - 1)]
        times = np.where(seconds == NO_TIME, NO_TIME, seconds * SECOND + micros)
        last = times[-1:].max(initial=NO_TIME if self.last is None else self.last)
        self.last = None if last == NO_TIME else int(last)
        return [at, times, more]

    def _strings(self, table: str) -> tuple[pl.Series, Integers]:
        """New distinct strings of a table, and the number of the prefix or the file of each."""
        store, begin = self._growing.scan.store, self._seen[table + " bytes"]
        self._seen[table + " bytes"] = store.bytes(table)
        tags = store.entries(table, self._seen["strings"])["tag"]
        return texts_of(store, table, begin), tags.astype(np.int64)

    def _read_texts(self, texts: pl.Series, files: Integers) -> None:
        """What texts say, by their number. A function that is dispatched is called."""
        number = self._seen["texts"] + np.arange(len(texts))
        self._seen["texts"] += len(texts)
        once = pl.DataFrame(dict.fromkeys(("at", "time", "thread"), number))
        once = once.with_row_index("text")
        grammar, names = self._growing.grammar, self._growing.scan.grammar.files
        found = Messages(grammar, texts, files, names, once)
        self._has_exits |= "entering_call" in found.ids
        for id_, (about, ends, field) in _MESSAGES.items():
            if self._has_exits and id_ in _BEFORE_2_11:
                continue
            name = pl.col(field).fill_null("")
            called = is_function(name) & (about == "op")
            kind = pl.when(called).then(pl.lit("call")).otherwise(pl.lit(about))
            said = found.of(id_).select(text="at", about=kind, ends=pl.lit(ends), name=name)
            self._texts.extend(said)


def _begun(rows: pl.DataFrame) -> pl.DataFrame:
    """The first of the records that begin something, and that no end of it follows."""
    at, about = pl.col("at"), pl.col("about")
    makes = about == "instantiation"
    ended = at.filter("ends").max().over("about", "name")
    dispatched = pl.when(makes).then(at.filter(~makes, ~pl.col("ends")).max())
    is_open = ~pl.col("ends") & (about != "op")
    later = at > pl.max_horizontal(ended, dispatched).fill_null(-1)
    return rows.filter(is_open, later).unique(["about", "name"], keep="first", maintain_order=True)
