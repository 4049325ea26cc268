"""What can go wrong with a log. Each fault takes what is to be written and gives what is written
instead; the truth is about the file as it is in the end. They can be combined, in this order.

processes   a second process writes to the same file, the same a little later, with steps of its own
clock       the clock is set back, and later forward
torn        records are torn where two streams meet:
            A  the line of `gemm_api` is written in two: the next record begins right after its time,
               and its own end follows as an empty line               (oneDNN 2.7, unbuffered output)
            B  a line of oneDNN stands between the prefix of a long record and its message      (2.20)
            C  … or between the message and its end                                             (2.20)
late        D  what goes to standard output leaves in blocks of 4096 bytes, whose edges cut lines
prints      E  other programs' text without an end of line; F  text in the form of a record
bytes       bytes that are no text
kill        the process is killed in the middle
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from tflogscope.runtime.emitter.output import Fault, Piece, Prefixes
from tflogscope.runtime.emitter.records import Execution, Primitive, Record
from tflogscope.runtime.emitter.truth import BEGIN


class _Fault:
    def __init__(self, random: Random, prefixes: Prefixes) -> None:
        self.random, self.prefixes = random, prefixes
        self.begin()

    def begin(self) -> None:
        """What it knows at first."""

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        raise NotImplementedError

    def end(self) -> list[Piece]:
        return []

    def stamped(self, piece: Piece, record: Record, time: int) -> tuple[bytes, int]:
        """The piece with another time in its prefix, and how long that is."""
        if not piece.middle:
            return piece.data, 0
        prefix = self.prefixes.of(record.kind, BEGIN + time, record.thread).encode()
        return prefix + piece.data[piece.middle :], len(prefix)


class _Processes(_Fault):
    _STEP = re.compile(rb"(step |step_id: )-(\d+)")
    _DELAY, _THREADS = 1500, 5000

    def begin(self) -> None:
        self._behind: deque[Piece] = deque()
        self._others: dict[Execution, Execution] = {}

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        written: list[Piece] = []
        for piece in pieces:
            record = piece.record
            assert record is not None
            while self._behind and self._behind[0].record.time <= record.time:  # type: ignore[union-attr]
                written.append(self._behind.popleft())
            self._behind.append(self._copy(piece, record))
            written.append(piece)
        return written

    def end(self) -> list[Piece]:
        return list(self._behind)

    def _copy(self, piece: Piece, record: Record) -> Piece:
        time, thread = record.time + self._DELAY, record.thread + self._THREADS
        other = replace(record, time=time, thread=thread, about=self._other(record.about))
        data, middle = self.stamped(piece, other, time)
        data = self._STEP.sub(lambda m: b"%s-%d" % (m[1], _other_number(int(m[2]))), data)
        return Piece(data, other, 1, middle)

    def _other(self, about: Any) -> Any:
        if about is None:
            return None
        if isinstance(about, Primitive):
            return replace(about, execution=self._other(about.execution), line=None)
        if about not in self._others:
            step = about.step
            other = self._others[about] = replace(
                about,
                process=1,
                number=-1,
                line=None,
                step=-_other_number(-step) if step is not None and step < 0 else step,
                start=about.start + self._DELAY,
                end=about.end + self._DELAY,
                thread=about.thread + self._THREADS,
            )
            other.call = self._other(about.call)  # a call is its own
        return self._others[about]


def _other_number(step: int) -> int:
    return step if step == 1 else step ^ 0x5A5A5A5A


class _Clock(_Fault):
    def begin(self) -> None:
        self._offset, self._next = 0, self.random.randint(200, 1500)

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        for piece in pieces:
            self._next -= 1
            if not self._next:
                self._next = self.random.randint(500, 5000)
                self._offset = 0 if self._offset else -self.random.randint(1, 2_000_000)
            record = piece.record
            if self._offset and record is not None and piece.middle:
                given = self.stamped(piece, record, record.time + self._offset)
                piece.data, piece.middle = given
                piece.torn = "clock"
        return pieces


class _Torn(_Fault):
    _SHARE_A, _SHARE_B, _LONG = 0.25, 0.5, 300

    def begin(self) -> None:
        self._held: Piece | None = None  # a line of oneDNN: the next record decides

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        written: list[Piece] = []
        for piece in pieces:
            held, self._held = self._held, None
            if held is not None:
                written += self._meeting(held, piece)
            elif b",exec," in piece.data and piece.record and piece.record.kind == "onednn":
                self._held = piece
            else:
                written.append(piece)
        return written

    def end(self) -> list[Piece]:
        return [] if self._held is None else [self._held]

    def _meeting(self, held: Piece, piece: Piece) -> list[Piece]:
        if not piece.middle or piece.process != held.process:
            return [held, piece]
        chance = self.random.random()
        if b",gemm_api," in held.data and chance < self._SHARE_A:
            held.data = held.data[:-1]
            held.torn = piece.torn = "A"
            return [held, piece, Piece(b"\n", process=held.process)]
        if len(piece.data) > self._LONG and piece.data.count(b"\n") == 1 and chance < self._SHARE_B:
            kind = "B" if chance < (self._SHARE_A + self._SHARE_B) / 2 else "C"
            cut = piece.middle if kind == "B" else len(piece.data) - 1
            rest = Piece(piece.data[cut:], process=piece.process)
            piece.data = piece.data[:cut]
            held.torn = piece.torn = kind
            return [piece, held, rest]
        return [held, piece]


class _Late(_Fault):
    _BLOCK = 4096

    def begin(self) -> None:
        self._block: list[Piece] = []
        self._size = 0

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        written: list[Piece] = []
        for piece in pieces:
            if piece.record is None or piece.record.kind not in {"onednn", "print"}:
                written.append(piece)
                continue
            piece.torn = piece.torn or "D"
            self._block.append(piece)
            self._size += len(piece.data)
            while self._size >= self._BLOCK:
                written += self._full()
        return written

    def end(self) -> list[Piece]:
        rest, self._block, self._size = self._block, [], 0
        return rest

    def _full(self) -> list[Piece]:
        block: list[Piece] = []
        size = 0
        while size < self._BLOCK:
            piece, room = self._block.pop(0), self._BLOCK - size
            if len(piece.data) > room:
                self._block.insert(0, Piece(piece.data[room:], process=piece.process))
                piece.data = piece.data[:room]
            block.append(piece)
            size += len(piece.data)
        self._size -= size
        return block


class _Between(_Fault):
    every = 40

    def choose(self) -> bytes:
        raise NotImplementedError

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        written: list[Piece] = []
        for piece in pieces:
            last = written[-1] if written else None
            # not into a record that another fault tore already
            whole = last is None or (not last.torn and last.data.endswith(b"\n"))
            if self.random.randrange(self.every) == 0 and whole:
                written.append(Piece(self.choose(), process=-1))
            written.append(piece)
        return written


class _Prints(_Between):
    _OPEN = (b"no newline...", b"loss: 0.25 ", b"\rEpoch 1/3 [=====>....] ")
    _WHOLE = (
        b"user stdout: Process node: 5 step 1 {{node fake}} = MatMul[]() device: x 0\n",
        b"2026-11-21 04:15:50,136 INFO app:12] step 2 Executing op FAKE in device somewhere\n",
        b"INFO:root:Synchronous kernel done: 7 step 3 {{node fake}} = Add[](x) device: y\n",
        b"\n",
        b"Traceback (most recent call last):\n",
        b"W1121 04:15:50.136000 77 other.cc:5] another program's own words\n",
    )

    def choose(self) -> bytes:
        return self.random.choice(self._OPEN if self.random.random() < 0.5 else self._WHOLE)


class _Bytes(_Between):
    every = 60

    def choose(self) -> bytes:
        raw = (
            b"\xff\xfe\x00\x01 raw\n",
            b"\x80\x81\x82\n",
            b"caf\xe9 \xe2\x82\n",
            b"\x00" * 12 + b"\n",
        )
        return self.random.choice(raw)


class _Kill(_Fault):
    def begin(self) -> None:
        self._left, self._half = self.random.randint(400, 2500), self.random.random() < 0.5

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        if len(pieces) < self._left:
            self._left -= len(pieces)
            return pieces
        pieces, self._left = pieces[: self._left], 0
        last = pieces[-1] if pieces else None
        if self._half and last is not None and last.record is not None:
            last.data = last.data[: max(1, len(last.data) * 2 // 3)]
            last.torn = "kill"
        return pieces


FAULTS: dict[str, Callable[[Random, Prefixes], Fault]] = {
    "processes": _Processes,
    "clock": _Clock,
    "torn": _Torn,
    "late": _Late,
    "prints": _Prints,
    "bytes": _Bytes,
    "kill": _Kill,
}


def faults_named(names: Sequence[str], seed: int, prefixes: Prefixes) -> list[Fault]:
    """The faults of these names, in their order. Raises ValueError for a name that is none."""
    unknown = [name for name in names if name not in FAULTS]
    if unknown:
        raise ValueError(f"no fault {unknown[0]}: there are {', '.join(FAULTS)}")
    return [
        make(Random(f"{seed} {name}"), prefixes)  # noqa: S311 - a model, no secret
        for name, make in FAULTS.items()
        if name in names
    ]
