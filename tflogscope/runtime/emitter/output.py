"""Records become bytes: in the order of their times, with prefixes, through the faults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Protocol

from tflogscope.runtime.emitter.dialects import Dialect
from tflogscope.runtime.emitter.records import Execution, Primitive, Record
from tflogscope.runtime.emitter.sites import SITES
from tflogscope.runtime.emitter.truth import BEGIN, Sink, Truth

_BARE = frozenset({"onednn", "print"})
_time = attrgetter("time")


@dataclass(frozen=True)
class Levels:
    """TF_CPP_MAX_VLOG_LEVEL, TF_CPP_VMODULE, TF_CPP_LOG_THREAD_ID."""

    level: int = 2
    modules: Mapping[str, int] | None = None
    threads: bool = False


class Prefixes:
    """What lines begin with, and which there are."""

    def __init__(self, dialect: Dialect, levels: Levels) -> None:
        self.absl, self.threads = dialect.absl, levels.threads
        self._tails: dict[str, tuple[str, str]] = {}
        for name, site in SITES.items():
            line, own = site.lines[dialect.index], (levels.modules or {}).get(site.module, 0)
            if line and site.level <= max(levels.level, own):
                path = site.file if self.absl else site.path
                self._tails[name] = (site.severity, f"{path}:{line}] ")

    def shows(self, name: str) -> bool:
        """Is such a line in the log?"""
        return name in self._tails

    def of(self, name: str, time: int, thread: int) -> str:
        """The prefix of a line."""
        severity, place = self._tails[name]
        if self.absl:
            seconds, micros = divmod(time, 1_000_000)
            return f"{severity}0000 00:00:{seconds}.{micros:06d} {thread:7d} {place}"
        shown = f" {thread:7d}" if self.threads else ""
        return f"{classic_time(time)}: {severity}{shown} {place}"


def classic_time(time: int) -> str:
    """As TensorFlow's own logging writes it."""
    seconds, micros = divmod(time, 1_000_000)
    return f"{_second(seconds)}.{micros:06d}"


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


@dataclass(slots=True, eq=False)
class Piece:
    """Some bytes, and the record that they are."""

    data: bytes
    record: Record | None = None
    process: int = 0
    middle: int = 0
    """Where the prefix ends."""
    torn: str = ""


class Fault(Protocol):
    """Something that goes wrong on the way."""

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        """What becomes of these, as far as it is decided."""

    def end(self) -> list[Piece]:
        """What is left."""


class Output:
    """The log file."""

    def __init__(
        self,
        file: Sink,
        prefixes: Prefixes,
        truth: Truth | None = None,
        faults: Sequence[Fault] = (),
    ) -> None:
        self._file, self._prefixes, self._truth, self._faults = file, prefixes, truth, faults
        self._waiting: list[Record] = []
        self._done: list[Execution] = []
        self._primitives: list[Primitive] = []
        self._line, self._at_start = 1, True
        self.flushed = 0

    def add(
        self,
        records: Iterable[Record],
        executions: Iterable[Execution],
        primitives: Iterable[Primitive],
    ) -> None:
        """These are to be written."""
        self._waiting += records
        if self._truth is not None:
            self._done += executions
            self._primitives += primitives

    def flush(self, until: int) -> None:
        """Write what happened up to then."""
        self._waiting.sort(key=_time)
        count = len(self._waiting)
        if count and self._waiting[-1].time > until:
            count = next(at for at, record in enumerate(self._waiting) if record.time > until)
        ready, self._waiting = self._waiting[:count], self._waiting[count:]
        self.flushed = max(self.flushed, until)
        pieces = [self._rendered(record) for record in ready]
        for fault in self._faults:
            pieces = fault.feed(pieces)
        self._write(pieces)
        self._note_done(until)

    def close(self) -> None:
        """Write the rest."""
        self.flush(max((record.time for record in self._waiting), default=self.flushed))
        for at, fault in enumerate(self._faults):
            pieces = fault.end()
            for later in self._faults[at + 1 :]:
                pieces = later.feed(pieces)
            self._write(pieces)
        self._note_done(None)

    def _rendered(self, record: Record) -> Piece:
        text, prefix = record.text, ""
        if record.kind not in _BARE:
            prefix = self._prefixes.of(record.kind, BEGIN + record.time, record.thread)
        end = "" if record.kind == "print" else "\n"
        data = f"{prefix}{text}{end}".encode("utf-8", "surrogateescape")
        return Piece(data, record, middle=len(prefix))

    def _write(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if piece.record is not None and self._truth is not None:
                self._note(piece, piece.record, self._truth)
            self._line += piece.data.count(b"\n")
            if piece.data:
                self._at_start = piece.data.endswith(b"\n")
        if pieces:
            self._file.write(b"".join(piece.data for piece in pieces))
            self._file.flush()

    def _note(self, piece: Piece, record: Record, truth: Truth) -> None:
        about = record.about
        if about is not None and (record.stands or isinstance(about, Primitive)):
            about.line = self._line
            if piece.process and isinstance(about, Primitive):  # nobody else speaks of it
                self._primitives.append(about)
            elif piece.process and isinstance(about, Execution):
                self._done.append(about)
        truth.line(self._line, piece, glued=not self._at_start)

    def _note_done(self, until: int | None) -> None:
        """The truth of what is over and whose line is written."""
        if self._truth is None:
            return
        kept: list[Execution] = []
        for execution in self._done:
            if until is not None and (execution.end >= until or execution.line is None):
                kept.append(execution)
            else:
                self._truth.execution(execution)
        later: list[Primitive] = []
        for primitive in self._primitives:
            if until is not None and primitive.line is None:
                later.append(primitive)
            else:
                self._truth.primitive(primitive)
        self._done, self._primitives = kept, later
        self._truth.flush()
