"""A second process writes to the same file: the same program, a moment later, on threads and in
steps of its own.
"""

from __future__ import annotations

import re
from collections import deque
from random import Random
from typing import TYPE_CHECKING

from tflogscope.runtime.emitter.records import Record

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

        other = Record(
            record.time + _DELAY, record.thread + _THREADS, record.kind, record.text, record.about
        )
        data = piece.data
        middle = 0
        if piece.middle:
            prefix = self._prefixes.of(other.kind, BEGIN + other.time, other.thread).encode()
            data, middle = prefix + data[piece.middle :], len(prefix)
        data = _STEP.sub(_other_step, data)
        return Made(data, other, 1, middle)


def _other_step(match: re.Match[bytes]) -> bytes:
    number = int(match[2])
    return match[0] if number == 1 else b"%s-%d" % (match[1], number ^ 0x5A5A5A5A)


def _time(piece: Piece) -> int:
    return piece.record.time if piece.record is not None else 0
