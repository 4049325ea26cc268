"""A second process writes to the same file: the same program, a moment later, on threads and in
steps of its own.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from tflogscope.runtime.emitter.records import Execution, Primitive, Record

if TYPE_CHECKING:
    from tflogscope.runtime.emitter.output import Piece
    from tflogscope.runtime.emitter.prefixes import Prefixes

__all__ = ["Processes"]

_STEP = re.compile(rb"(step |step_id: )-(\d+)")
_DELAY = 1500
_THREADS = 5000


class Processes:
    """Writes everything twice."""

    def __init__(self, random: Random, prefixes: Prefixes) -> None:
        self._random = random
        self._prefixes = prefixes
        self._behind: deque[Piece] = deque()
        self._others: dict[Execution, Execution] = {}
        """By what the program ran, what the second process did."""

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        """What both write, by time."""
        written: list[Piece] = []
        for piece in pieces:
            record = piece.record
            assert record is not None
            while self._behind and _time(self._behind[0]) <= record.time:
                written.append(self._behind.popleft())
            self._behind.append(self._copy(piece, record))
            written.append(piece)
        return written

    def end(self) -> list[Piece]:
        """The second process ends later."""
        return list(self._behind)

    def _copy(self, piece: Piece, record: Record) -> Piece:
        from tflogscope.runtime.emitter.output import Piece as Made
        from tflogscope.runtime.emitter.prefixes import BEGIN

        other = replace(
            record,
            time=record.time + _DELAY,
            thread=record.thread + _THREADS,
            about=self._other(record.about),
        )
        data = piece.data
        middle = 0
        if piece.middle:
            prefix = self._prefixes.of(other.kind, BEGIN + other.time, other.thread).encode()
            data, middle = prefix + data[piece.middle :], len(prefix)
        data = _STEP.sub(_other_step, data)
        return Made(data, other, 1, middle)

    def _other(self, about: Execution | Primitive | None) -> Any:
        """The same of the second process."""
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
                step=-_number(-step) if step is not None and step < 0 else step,
                start=about.start + _DELAY,
                end=about.end + _DELAY,
                thread=about.thread + _THREADS,
            )
            other.call = self._other(about.call)  # a call is its own
        return self._others[about]


def _other_step(match: re.Match[bytes]) -> bytes:
    return b"%s-%d" % (match[1], _number(int(match[2])))


def _number(step: int) -> int:
    return step if step == 1 else step ^ 0x5A5A5A5A


def _time(piece: Piece) -> int:
    return piece.record.time if piece.record is not None else 0
