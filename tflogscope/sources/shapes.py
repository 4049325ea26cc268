"""What is around lines of a process, the same but for digits: the library takes it off."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Iterable, Sequence

from tflogscope.native.library import library
from tflogscope.sources.block import Numbers, numbers_at
from tflogscope.sources.pieces import Key, Opened

FEW = 8
"""Ways in which lines of one process begin."""
MANY = 64
"""The same of all processes."""
ANY_STRING = b"\x02"
_DIGITS, _ANY_DIGITS = re.compile(b"[0-9]+"), b"\x01"
_LONGEST = 0xFFFF  # bytes


class LineShapes:
    """The shapes of lines, and whose they are; they are learned from lines that have others."""

    def __init__(self) -> None:
        self._known: dict[bytes, Key] = {}
        self._room = self._which = ctypes.create_string_buffer(0)

    def open(self, text: bytes, numbers: Numbers) -> tuple[list[Opened], int]:
        """The lines of each process; or none, and where one of another shape begins."""
        if not self._known:
            return [], 0
        if len(self._room) < len(text):
            self._room, self._which = map(ctypes.create_string_buffer, [len(text)] * 2)
        lines, read = ctypes.c_uint64(), ctypes.c_uint64()
        shapes = b"".join(self._known)
        size = library().tflogscope_unwrap(
            *(text, len(text), shapes, len(shapes)),
            *(self._room, self._which, ctypes.byref(lines), ctypes.byref(read)),
        )
        if read.value < len(text):
            return [], read.value
        count, inner = lines.value, ctypes.string_at(self._room, size)
        keys = list(dict.fromkeys(self._known.values()))
        if len(keys) == 1:
            return [Opened(keys[0], inner, numbers, count, count)], len(text)
        return self._of_each(keys, inner, numbers, count), len(text)

    def _of_each(self, keys: list[Key], text: bytes, numbers: Numbers, count: int) -> list[Opened]:
        """The lines of each process: several in a row are taken at once."""
        import numpy as np

        whose = np.array([keys.index(key) for key in self._known.values()])
        whose = whose[np.frombuffer(memoryview(self._which), np.uint8, count)]
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 10) + 1
        first = np.append(0, np.flatnonzero(whose[1:] != whose[:-1]) + 1)
        begin = np.append(0, ends)[first]
        end = np.append(begin[1:], len(text))
        made = []
        for number, key in enumerate(keys):
            runs, lines = np.flatnonzero(whose[first] == number), np.flatnonzero(whose == number)
            places = zip(begin[runs].tolist(), end[runs].tolist(), strict=True)
            mine = b"".join([text[since:until] for since, until in places])
            made.append(Opened(key, mine, numbers_at(numbers, lines), len(lines), len(lines)))
        return [batch for batch in made if batch.lines]

    def add(self, key: Key, head: bytes, tail: bytes = b"") -> bool:
        """Know one more; False: it is known, or there is no room for it."""
        shape = b"".join(struct.pack("<H", len(part) & 0xFFFF) + part for part in (head, tail))
        if len(head) + len(tail) > _LONGEST or shape in self._known or not self.room([key]):
            return False
        self._known[shape] = key
        return True

    def room(self, keys: Iterable[Key] = ()) -> int:
        """How many more there is room for, with these processes."""
        return min(MANY, FEW * len({*self._known.values(), *keys})) - len(self._known)


def any_digits(text: bytes, fixed: Sequence[tuple[int, int]] = ()) -> bytes:
    """Text with a mark for digits that may be others: all that are not in a fixed part."""
    marked, begin = b"", 0
    for first, last in sorted(fixed):
        if first >= 0:
            marked += _DIGITS.sub(_ANY_DIGITS, text[begin:first]) + text[first:last]
            begin = last
    return marked + _DIGITS.sub(_ANY_DIGITS, text[begin:])


def one_of_each(texts: Sequence[tuple[Key, bytes]]) -> list[tuple[Key, bytes]]:
    """One text of each shape of each process."""
    alike = _DIGITS.sub(b"0", b"\n".join([text for _, text in texts])).split(b"\n")
    return list(
        {(keyed[0], shape): keyed for keyed, shape in zip(texts, alike, strict=False)}.values()
    )
