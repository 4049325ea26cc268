"""From records to the file: order, prefixes, faults, lines; and the truth beside it.

Records come in any order; they leave in the order of their times, once nothing earlier can come.
What a fault does to the bytes happens on the way, after which lines are counted: so the truth knows
where everything really stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Protocol

from tflogscope.runtime.emitter.prefixes import BEGIN, Prefixes
from tflogscope.runtime.emitter.records import Execution, Primitive, Record
from tflogscope.runtime.emitter.truth import Truth

__all__ = ["Fault", "Output", "Piece", "Sink"]

_BARE = frozenset({"onednn", "print"})
_time = attrgetter("time")


@dataclass(slots=True, eq=False)
class Piece:
    """Bytes that are written at once; the first piece of a record has the record."""

    data: bytes
    record: Record | None = None
    process: int = 0
    """Which process wrote it; 0 is the program's own."""
    middle: int = 0
    """Where the message begins, after the prefix; 0 if there is none."""
    torn: str = ""
    """What a fault did to it, if anything."""


class Sink(Protocol):
    """Where bytes go."""

    def write(self, data: bytes, /) -> object:
        """Take more."""
        ...

    def flush(self) -> None:
        """Let what was written be seen, whatever happens next."""
        ...


class Fault(Protocol):
    """Something that goes wrong between the process and the file."""

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        """What is written for these pieces now."""
        ...

    def end(self) -> list[Piece]:
        """What is written at the end."""
        ...


class Output:
    """The log that is being written."""

    def __init__(
        self,
        file: Sink,
        prefixes: Prefixes,
        truth: Truth | None = None,
        faults: Sequence[Fault] = (),
    ) -> None:
        self._file = file
        self._prefixes = prefixes
        self._truth = truth
        self._faults = faults
        self._waiting: list[Record] = []
        self._done: list[Execution] = []
        self._primitives: list[Primitive] = []
        self._line = 1
        self._at_start = True
        self.flushed = 0
        """No record before this time can be written any more."""

    def add(
        self,
        records: Iterable[Record],
        executions: Iterable[Execution],
        primitives: Iterable[Primitive],
    ) -> None:
        """Records to be written when their time has come, and what they are about."""
        self._waiting += records
        if self._truth is not None:
            self._done += executions
            self._primitives += primitives

    def flush(self, until: int) -> None:
        """Write all that is not later than this time."""
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
        self._tell(until)

    def forget(self) -> None:
        """What waits is written by another process, and so is the truth."""
        self._waiting, self._done, self._primitives, self._truth = [], [], [], None

    def close(self) -> None:
        """Write the rest."""
        self.flush(max((record.time for record in self._waiting), default=self.flushed))
        for at, fault in enumerate(self._faults):
            pieces = fault.end()
            for later in self._faults[at + 1 :]:
                pieces = later.feed(pieces)
            self._write(pieces)
        self._tell(None)

    def _rendered(self, record: Record) -> Piece:
        if record.kind == "print":
            return Piece(record.text.encode("utf-8", "surrogateescape"), record)
        if record.kind in _BARE:
            return Piece(record.text.encode("utf-8", "surrogateescape") + b"\n", record)
        prefix = self._prefixes.of(record.kind, BEGIN + record.time, record.thread)
        text = f"{prefix}{record.text}\n"
        return Piece(text.encode("utf-8", "surrogateescape"), record, middle=len(prefix))

    def _write(self, pieces: list[Piece]) -> None:
        if not pieces:
            return
        for piece in pieces:
            record = piece.record
            if record is not None and self._truth is not None:
                self._note(piece, record)
            count = piece.data.count(b"\n")
            self._line += count
            if piece.data:
                self._at_start = piece.data.endswith(b"\n")
        self._file.write(b"".join(piece.data for piece in pieces))
        self._file.flush()

    def _note(self, piece: Piece, record: Record) -> None:
        """Tell the truth of a line; of those that stand for something, remember where."""
        assert self._truth is not None
        about = record.about
        stands = isinstance(about, Primitive) or record.stands
        if about is not None and stands:
            about.line = self._line
            if piece.process:  # nobody else tells of it
                self._add_other(about)
        self._truth.line(self._line, piece, glued=not self._at_start)

    def _add_other(self, about: Execution | Primitive) -> None:
        if isinstance(about, Primitive):
            self._primitives.append(about)
        else:
            self._done.append(about)

    def _tell(self, until: int | None) -> None:
        """Executions that have ended and are written; at the end (None) the others, too."""
        if self._truth is None:
            return
        kept = []
        for execution in self._done:
            if until is not None and (execution.end >= until or execution.line is None):
                kept.append(execution)
            else:
                self._truth.execution(execution)
        self._done = kept
        later = []
        for primitive in self._primitives:
            if until is not None and primitive.line is None:
                later.append(primitive)
            else:
                self._truth.primitive(primitive)
        self._primitives = later
        self._truth.flush()
