"""The clock is set: records after that have other times, and some go backwards."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tflogscope.runtime.emitter.output import Piece
    from tflogscope.runtime.emitter.prefixes import Prefixes

__all__ = ["Clock"]


class Clock:
    """Sets the clock back by up to two seconds, and forward again, every few thousand records."""

    def __init__(self, random: Random, prefixes: Prefixes) -> None:
        self._random = random
        self._prefixes = prefixes
        self._offset = 0
        self._next = random.randint(200, 1500)

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        """The same records, with the time that the clock showed."""
        from tflogscope.runtime.emitter.prefixes import BEGIN

        for piece in pieces:
            self._next -= 1
            if not self._next:
                self._next = self._random.randint(500, 5000)
                self._offset = 0 if self._offset else -self._random.randint(1, 2_000_000)
            record = piece.record
            if self._offset and record is not None and piece.middle:
                time = BEGIN + record.time + self._offset
                prefix = self._prefixes.of(record.kind, time, record.thread).encode()
                piece.data = prefix + piece.data[piece.middle :]
                piece.middle = len(prefix)
                piece.torn = "clock"
        return pieces

    def end(self) -> list[Piece]:
        """Nothing more."""
        return []
