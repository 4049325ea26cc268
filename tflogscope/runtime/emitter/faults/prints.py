"""Lines of others: prints without an end, lines that look like records and are none, raw bytes.

E  text without an end of line, so that the next record begins in the middle of a line
F  text that a person wrote, in the form of a record
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tflogscope.runtime.emitter.output import Piece
    from tflogscope.runtime.emitter.prefixes import Prefixes

__all__ = ["Bytes", "Prints"]

_OPEN = (b"no newline...", b"loss: 0.25 ", b"\rEpoch 1/3 [=====>....] ")
_WHOLE = (
    b"user stdout: Process node: 5 step 1 {{node fake}} = MatMul[]() device: x 0\n",
    b"2026-11-21 04:15:50,136 INFO app:12] step 2 Executing op FAKE in device somewhere\n",
    b"INFO:root:Synchronous kernel done: 7 step 3 {{node fake}} = Add[](x) device: y\n",
    b"\n",
    b"Traceback (most recent call last):\n",
    b"W1121 04:15:50.136000 77 other.cc:5] another program's own words\n",
)
_RAW = (b"\xff\xfe\x00\x01 raw\n", b"\x80\x81\x82\n", b"caf\xe9 \xe2\x82\n", b"\x00" * 12 + b"\n")


class _Between:
    """Puts something between records, now and then."""

    every = 40

    def __init__(self, random: Random, prefixes: Prefixes) -> None:
        del prefixes
        self._random = random

    def choose(self) -> bytes:
        """What comes in."""
        raise NotImplementedError

    def feed(self, pieces: list[Piece]) -> list[Piece]:
        """The same, with something between."""
        from tflogscope.runtime.emitter.output import Piece as Made

        written: list[Piece] = []
        for piece in pieces:
            if self._random.randrange(self.every) == 0 and _at_start(written):
                written.append(Made(self.choose(), process=-1))
            written.append(piece)
        return written

    def end(self) -> list[Piece]:
        """Nothing more."""
        return []


def _at_start(written: list[Piece]) -> bool:
    """Not into a record that another fault tore already."""
    return not written or (not written[-1].torn and written[-1].data.endswith(b"\n"))


class Prints(_Between):
    """Other programs' prints."""

    def choose(self) -> bytes:
        """Half of them without an end."""
        return self._random.choice(_OPEN if self._random.random() < 0.5 else _WHOLE)


class Bytes(_Between):
    """Bytes that are no UTF-8."""

    every = 60

    def choose(self) -> bytes:
        """Some of them."""
        return self._random.choice(_RAW)
