"""Records that tear each other, where two streams go to one file.

A  the line of `gemm_api` is written in two writes: the next record begins right after its time,
   and its own end follows as an empty line                      (oneDNN 2.7, unbuffered output)
B  a long record is written in three: a line of oneDNN stands between prefix and message  (2.20)
C  … or between the message and its end                                                   (2.20)
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tflogscope.runtime.emitter.output import Piece
    from tflogscope.runtime.emitter.prefixes import Prefixes

__all__ = ["Torn"]

_SHARE_A, _SHARE_B = 0.25, 0.5
_LONG = 300
"""NB: in 2.20 records of more than 1024 bytes; here shorter ones, so that small logs have some."""


class Torn:
    """Tears a share of the records at which two streams meet."""

    def __init__(self, random: Random, prefixes: Prefixes) -> None:
        del prefixes
        self._random = random
        self._held: Piece | None = None
        """A line of oneDNN, of which the next record decides what becomes."""

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        """What is written, torn here and there."""
        written: list[Piece] = []
        for piece in pieces:
            held, self._held = self._held, None
            if held is not None:
                written += self._meeting(held, piece)
            elif _is_verbose(piece):
                self._held = piece
            else:
                written.append(piece)
        return written

    def end(self) -> list[Piece]:
        """What was held back."""
        held, self._held = self._held, None
        return [held] if held is not None else []

    def _meeting(self, held: Piece, piece: Piece) -> list[Piece]:
        from tflogscope.runtime.emitter.output import Piece as Made

        if not piece.middle or piece.process != held.process:
            return [held, piece]
        chance = self._random.random()
        if b",gemm_api," in held.data and chance < _SHARE_A:
            held.data = held.data[:-1]
            held.torn, piece.torn = "A", "A"
            return [held, piece, Made(b"\n", process=held.process)]
        if len(piece.data) > _LONG and piece.data.count(b"\n") == 1 and chance < _SHARE_B:
            kind = "B" if chance < (_SHARE_A + _SHARE_B) / 2 else "C"
            cut = piece.middle if kind == "B" else len(piece.data) - 1
            rest = piece.data[cut:]
            piece.data = piece.data[:cut]
            held.torn = piece.torn = kind
            return [piece, held, Made(rest, process=piece.process)]
        return [held, piece]


def _is_verbose(piece: Piece) -> bool:
    return piece.record is not None and piece.record.kind == "onednn" and b",exec," in piece.data
