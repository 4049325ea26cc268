"""Lines of oneDNN that come late: standard output is a file, and nobody flushes it.

D  they leave in blocks of 4096 bytes, whenever a block is full; its edge cuts a line in two
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tflogscope.runtime.emitter.output import Piece
    from tflogscope.runtime.emitter.prefixes import Prefixes

__all__ = ["Late"]

_BLOCK = 4096


class Late:
    """Keeps what goes to standard output until a block is full."""

    def __init__(self, random: Random, prefixes: Prefixes) -> None:
        del random, prefixes
        self._block: list[Piece] = []
        self._size = 0

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        """What is written now."""
        written: list[Piece] = []
        for piece in pieces:
            if piece.record is None or piece.record.kind not in {"onednn", "print"}:
                written.append(piece)
                continue
            piece.torn = piece.torn or "D"
            self._block.append(piece)
            self._size += len(piece.data)
            while self._size >= _BLOCK:
                written += self._full()
        return written

    def end(self) -> list[Piece]:
        """At its end a process flushes its streams."""
        rest, self._block, self._size = self._block, [], 0
        return rest

    def _full(self) -> list[Piece]:
        from tflogscope.runtime.emitter.output import Piece as Made

        block: list[Piece] = []
        size = 0
        while size < _BLOCK:
            piece = self._block.pop(0)
            room = _BLOCK - size
            if len(piece.data) > room:
                self._block.insert(0, Made(piece.data[room:], process=piece.process))
                self._block[0].record = None
                piece.data = piece.data[:room]
            block.append(piece)
            size += len(piece.data)
        # what is left of a cut line stays in the buffer, and is stdout's all the same
        self._size -= size
        return block
