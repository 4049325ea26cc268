"""What is around lines of one process, the same but for digits: the library takes it off."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Sequence

from tflogscope.native.library import library
from tflogscope.sources.block import Numbers
from tflogscope.sources.pieces import Key, Opened

FEW = 8
"""Ways in which lines of one process begin."""
ANY_STRING = b"\x02"
_DIGITS, _ANY_DIGITS = re.compile(b"[0-9]+"), b"\x01"
_LONGEST = 0xFFFF  # bytes


class Shapes:
    """The shapes of one process's lines, which are learned from lines that have others."""

    def __init__(self) -> None:
        self.key: Key = ()
        self._known: list[bytes] = []
        self._room = ctypes.create_string_buffer(0)

    def open(self, text: bytes, numbers: Numbers) -> tuple[Opened | None, int]:
        """The lines, and where the first one begins that has another shape."""
        if not self._known:
            return None, 0
        if len(self._room) < len(text):
            self._room = ctypes.create_string_buffer(len(text))
        lines, read = ctypes.c_uint64(), ctypes.c_uint64()
        shapes = b"".join(self._known)
        size = library().tflogscope_unwrap(
            *(text, len(text), shapes, len(shapes)),
            *(self._room, ctypes.byref(lines), ctypes.byref(read)),
        )
        if read.value < len(text):
            return None, read.value
        count, found = lines.value, ctypes.string_at(self._room, size)
        return Opened(self.key, found, numbers, count, count), len(text)

    def add(self, key: Key, head: bytes, tail: bytes = b"") -> bool:
        """Know one more; False: it is known, of another process, or there is no room for it."""
        shape = b"".join(struct.pack("<H", len(each) & 0xFFFF) + each for each in (head, tail))
        wrong = len(head) + len(tail) > _LONGEST or shape in self._known
        if wrong or len(self._known) == FEW or (self._known and key != self.key):
            return False
        self.key = key
        self._known.append(shape)
        return True


def any_digits(text: bytes, fixed: Sequence[tuple[int, int]] = ()) -> bytes:
    """Text with a mark for digits that may be others: all that are not in a fixed part."""
    found, begin = b"", 0
    for first, last in sorted(fixed):
        if first >= 0:
            found += _DIGITS.sub(_ANY_DIGITS, text[begin:first]) + text[first:last]
            begin = last
    return found + _DIGITS.sub(_ANY_DIGITS, text[begin:])


def one_of_each(texts: Sequence[bytes]) -> list[bytes]:
    """One text of each shape."""
    joined = b"\n".join(texts)
    alike = _DIGITS.sub(b"0", joined).split(b"\n")
    return list(dict(zip(alike, joined.split(b"\n"), strict=True)).values())
