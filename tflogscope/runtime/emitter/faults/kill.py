"""The process is killed: the log ends, perhaps in the middle of a record."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tflogscope.runtime.emitter.output import Piece
    from tflogscope.runtime.emitter.prefixes import Prefixes

__all__ = ["Kill"]


class Kill:
    """Ends the log after a few thousand records."""

    def __init__(self, random: Random, prefixes: Prefixes) -> None:
        del prefixes
        self._left = random.randint(400, 2500)
        self._half = random.random() < 0.5

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        """What is written before the end."""
        if self._left <= 0:
            return []
        if len(pieces) < self._left:
            self._left -= len(pieces)
            return pieces
        pieces = pieces[: self._left]
        self._left = 0
        last = pieces[-1]
        if self._half and last.record is not None:
            last.data = last.data[: max(1, len(last.data) * 2 // 3)]
            last.torn = "kill"
        return pieces

    def end(self) -> list[Piece]:
        """Nothing more."""
        return []
