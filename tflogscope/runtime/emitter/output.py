"""Records become bytes: in the order of their times, with prefixes, through the faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from random import Random

from tflogscope.runtime.emitter.dialects import DIALECTS, SITES, Dialect
from tflogscope.runtime.emitter.records import BEGIN, Record, Sink, Strand, Truth

BARE = frozenset({"onednn", "print"})
_time = attrgetter("time")
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - the log doesn't say its zone


@dataclass(frozen=True)
class Levels:
    """TF_CPP_MAX_VLOG_LEVEL, TF_CPP_VMODULE, TF_CPP_LOG_THREAD_ID."""

    level: int = 2
    modules: Mapping[str, int] | None = None
    threads: bool = False


class Prefixes:
    """What lines begin with, and which there are."""

    def __init__(self, dialect: Dialect, levels: Levels) -> None:
        self.dialect, self.absl, self.threads = dialect, dialect.absl, levels.threads
        self._tails: dict[str, tuple[str, str]] = {}
        at = list(DIALECTS).index(dialect.release)
        for name, site in SITES.items():
            line, file = site.lines[at], site.path.rpartition("/")[2]
            own = (levels.modules or {}).get(file.partition(".")[0], 0)
            if line and site.level <= max(levels.level, own):
                path = file if self.absl else site.path
                self._tails[name] = (site.severity, f"{path}:{line}] ")

    def shows(self, name: str) -> bool:
        return name in self._tails

    def of(self, name: str, time: int, thread: int) -> str:
        severity, place = self._tails[name]
        if self.absl:
            seconds, micros = divmod(time, 1_000_000)
            return f"{severity}0000 00:00:{seconds}.{micros:06d} {thread:7d} {place}"
        shown = f" {thread:7d}" if self.threads else ""
        return f"{classic_time(time)}: {severity}{shown} {place}"


def classic_time(time: int) -> str:
    """As TensorFlow's own logging writes it."""
    return (_EPOCH + timedelta(microseconds=time)).isoformat(" ", "microseconds")


@dataclass(slots=True, eq=False)
class Piece:
    """Some bytes, and the record that they are."""

    data: bytes
    record: Record | None = None
    process: int = 0
    middle: int = 0
    """Where the prefix ends."""
    torn: str = ""


Fault = Callable[[Sequence[Piece], Random, Prefixes], Iterator[Piece]]
"""Something that goes wrong on the way."""


class Output:
    """The log file. Its first line says that no TensorFlow wrote it."""

    def __init__(
        self,
        file: Sink,
        prefixes: Prefixes,
        truth: Truth | None = None,
        faults: Sequence[Callable[[Sequence[Piece]], list[Piece]]] = (),
    ) -> None:
        self._file, self._prefixes, self._truth, self._faults = file, prefixes, truth, faults
        file.write(f'# tflogscope record {{"simulated":"{prefixes.dialect.release}"}}\n'.encode())
        self._waiting: list[Record] = []
        self._held: list[Piece] = []  # with faults, which see all of the log at once
        self._line, self._at_start = 2, True
        self.flushed = 0

    def add(self, strand: Strand) -> None:
        """What happened there is to be written."""
        self._waiting += strand.records
        if self._truth is not None:
            self._truth.ran += strand.ran

    def flush(self, until: int) -> None:
        """Write what happened up to then."""
        self._waiting.sort(key=_time)
        count = len(self._waiting)
        if count and self._waiting[-1].time > until:
            count = next(at for at, record in enumerate(self._waiting) if record.time > until)
        ready, self._waiting = self._waiting[:count], self._waiting[count:]
        self.flushed = max(self.flushed, until)
        pieces = [self._rendered(record) for record in ready]
        if self._faults:
            self._held += pieces
        else:
            self._write(pieces)

    def close(self) -> None:
        self.flush(max((record.time for record in self._waiting), default=self.flushed))
        for fault in self._faults:
            self._held = fault(self._held)
        self._write(self._held)
        if self._truth is not None:
            self._truth.end()

    def _rendered(self, record: Record) -> Piece:
        prefix = ""
        if record.kind not in BARE:
            prefix = self._prefixes.of(record.kind, BEGIN + record.time, record.thread)
        end = "" if record.kind == "print" else "\n"
        data = f"{prefix}{record.text}{end}".encode("utf-8", "surrogateescape")
        return Piece(data, record, middle=len(prefix))

    def _write(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            record, truth = piece.record, self._truth
            if record is not None and truth is not None:
                if record.about is not None and record.stands:
                    record.about.line = self._line
                    if piece.process:  # nobody else speaks of it
                        truth.ran.append(record.about)
                truth.line(self._line, piece, glued=not self._at_start)
            self._line += piece.data.count(b"\n")
            self._at_start = piece.data.endswith(b"\n") if piece.data else self._at_start
        if pieces:
            self._file.write(b"".join(piece.data for piece in pieces))
            self._file.flush()
