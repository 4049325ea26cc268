"""Eager ops, calls of functions, and functions being made ready, so far and right now."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from tflogscope.grammar.fast import extract, match_messages
from tflogscope.grammar.model import Grammar
from tflogscope.live.news import News
from tflogscope.live.spans import Spans
from tflogscope.live.sums import Sums
from tflogscope.model.names import is_function, op_of_kernel, rewrite_of_kernel, wrapped_op

# Messages, with the field that names an op or a function ("": none).
_FIELDS = {
    "executing_op": "op",
    "running_component": "function",
    "component_succeeded_sync": "",
    "component_failed_sync": "",
    "component_succeeded": "function",
    "component_failed": "function",
    "entering_call": "op",
    "exiting_call": "op",
    "instantiating_function": "function",
    "instantiated_function": "function",
    "finished_component": "component",
    "rewritten": "",
    "python_node": "node",
    "python_gradient": "node",
}
_IDS = [*_FIELDS]
_EXECUTING, _RUNNING = _IDS[:2]
_NODES = ("python_node", "python_gradient")
_NAMES_FUNCTION = ("entering_call", "instantiating_function")
# What is dispatched comes last: an op of that name may be a function.
_FILES = ("process_function_library_runtime.cc", "mkl_layout_pass.cc", "python", "execute.cc")
_KEPT = 60  # durations of a function's last calls


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


class _Text(NamedTuple):
    """A text that is looked for."""

    id: str
    name: str
    handle: int
    op: int
    """The row of an eager op's sums; -1: it is none."""
    rewritten: bool
    """Whether the name is that of a rewrite's kernel."""


class Calls:
    """Sums of eager ops and calls; which functions are being made ready or run right now."""

    def __init__(self, news: News, sums: Sums, grammar: Grammar, files: tuple[str, ...]) -> None:
        self.functions: dict[str, Function] = {}
        self.last_at = -1
        """The latest record of these."""
        self.node: str | None = None
        """The node that Python has added to a graph, if it has done nothing else since."""
        self._news, self._sums = news, sums
        self._files = {}  # by number, with the messages that are looked for
        for name in _FILES:
            known = grammar.files[name]
            wanted = tuple(each for each in known.messages if each.id in _IDS)
            self._files[files.index(name)] = known._replace(messages=wanted)
        self._grammar = grammar
        self._texts: dict[int, _Text] = {}
        self._is_known = np.zeros(0, bool)
        self._known: set[str] = set()
        self._spans = Spans()
        self._threads = np.zeros(0, np.int64)

    def advance(self) -> None:
        """Add what is new."""
        self._threads = np.concatenate([self._threads, self._news.threads()])
        self._read_texts()
        at, clock, micros, site, text = self._news.rows(
            "texts", "at", "clock", "micros", "site", "text"
        )
        thread = np.append(self._threads, -1)[np.minimum(site, len(self._threads))]
        times, rows = self._news.us(clock, micros), np.flatnonzero(self._is_known[text])
        columns = (text, at, times, thread, clock)
        ran = []
        records = zip(*(each[rows].tolist() for each in columns), strict=True)
        for number, at_, time, thread_, clock_ in records:
            each = self._texts[number]
            self._follow(each, at_, time, thread_)
            if each.op >= 0 and each.id == _EXECUTING:
                ran.append((each.op, clock_))
        op, clocks = np.array(ran, np.int64).reshape(-1, 2).T
        self._sums.add("eager", op)
        self._sums.add_by_clock("eager", clocks)
        op, us, rewritten = np.array(self._spans.ended, np.int64).reshape(-1, 3).T
        self._sums.add("eager_us", op, us)
        self._sums.add("eager_rewritten_us", op[rewritten > 0], us[rewritten > 0])
        self._sums.add("eager_rewritten", np.array(self._spans.rewritten, np.int64))
        self._spans.ended, self._spans.rewritten = [], []

    @property
    def making(self) -> list[tuple[str, int]]:
        """Functions that are being made ready, and since when (NO_TIME: not known)."""
        return self._spans.making

    @property
    def running(self) -> list[tuple[str, int]]:
        """The same of functions that run: where the log prints when they end."""
        return self._spans.running

    @property
    def eager(self) -> list[tuple[str, int]]:
        """The same of eager ops that run."""
        return self._spans.eager

    def _read_texts(self) -> None:
        texts, tags = self._news.texts("texts"), self._news.tags("texts")
        distinct = pl.Series("text", texts, pl.String)
        first, known = len(self._is_known), np.zeros(len(texts), bool)
        for file, messages in self._files.items():
            rows = np.flatnonzero(tags == file)
            ids = match_messages(distinct.gather(rows), messages)
            for id_ in sorted(ids.drop_nulls().unique(), key=_EXECUTING.__eq__):
                mine = rows[ids.eq_missing(id_).to_numpy()]
                numbers = (first + mine).tolist()
                found = self._read(id_, distinct.gather(mine))
                self._texts |= dict(zip(numbers, found, strict=True))
                known[mine] = True
        self._is_known = np.concatenate([self._is_known, known])

    def _read(self, id_: str, texts: pl.Series) -> Iterator[_Text]:
        """What distinct texts of one message say."""
        found, field_ = extract(texts, self._grammar.message(id_)), _FIELDS[id_]
        name = found[field_] if field_ else pl.Series([""] * len(texts), dtype=pl.String)
        if id_ in _NAMES_FUNCTION:
            self._known.update(name.drop_nulls().to_list())
        full, kernel = pl.col("name"), pl.lit(None, pl.String)
        if id_ == _RUNNING:
            kernel = wrapped_op(full)
        elif id_ == _EXECUTING:
            kernel = pl.when(~(is_function(full) | full.is_in(list(self._known)))).then("name")
        frame = pl.DataFrame({"name": name}).select(
            pl.col("name").fill_null(""),
            handle=pl.lit(-1) if "handle" not in found.columns else found["handle"].fill_null(-1),
            op=op_of_kernel(kernel),
            rewritten=(rewrite_of_kernel(kernel) != "none").fill_null(value=False),
        )
        op = np.full(len(texts), -1)
        op[frame["op"].is_not_null().to_numpy()] = self._sums.rows_of(frame["op"].drop_nulls())
        for row in frame.with_columns(op=pl.Series(op)).iter_rows():
            yield _Text(id_, *row)

    def _follow(self, text: _Text, at: int, time: int, thread: int) -> None:
        """Follow a record; the records come in the order of the log."""
        spans = self._spans
        if text.id in _NODES:
            self.node = text.name
            return
        self.node, self.last_at = None, at
        match text.id:
            case "executing_op" if text.op >= 0:
                spans.send(text.name, text.op, time, thread, rewritten=text.rewritten)
            case "running_component":
                spans.run((text.name, text.handle), text.op, thread)
            case "component_succeeded_sync" | "component_failed_sync":
                spans.end_last(time, thread, failed=text.id == "component_failed_sync")
            case "instantiating_function":
                spans.make(text.name, time, thread)
            case "instantiated_function":
                spans.made(text.name, thread)
            case "rewritten":
                spans.rewrite(thread)
            case "finished_component":
                spans.finish(text.handle, thread)
            case _:
                self._follow_call(text, at, time, thread)

    def _follow_call(self, text: _Text, at: int, time: int, thread: int) -> None:
        """The same of calls of functions."""
        spans = self._spans
        match text.id:
            case "executing_op":
                function = self.functions.setdefault(text.name, Function(text.name))
                function.calls += 1
                function.order = at
                spans.call(text.name, time, thread)
            case "entering_call":
                spans.enter(text.name, time, thread)
            case "exiting_call":
                self._ended(text.name, spans.leave(text.name, time, thread))
            case "component_succeeded" | "component_failed":
                spans.end((text.name, text.handle), time)
                self._ended(text.name, spans.return_(text.name, time, thread))

    def _ended(self, name: str, us: int | None) -> None:
        """Count what a call took."""
        if us is not None:
            function = self.functions.setdefault(name, Function(name))
            function.ended += 1
            function.total_us += us
            function.last.append(us)
