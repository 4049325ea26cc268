"""Protobuf's wire format, by the column: a message per row, made without a loop over rows.

The format: https://protobuf.dev/programming-guides/encoding/. A `Ragged` is a column of byte
strings; a message is its fields joined row by row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
_VARINT, _FIXED64, _BYTES = 0, 1, 2  # wire types


@dataclass(frozen=True)
class Ragged:
    """A column of byte strings: `data` holds them one after the other."""

    data: NDArray[np.uint8]
    lengths: Integers

    def take(self, rows: Integers) -> Ragged:
        """The strings with these numbers, in this order; −1 is an empty one."""
        starts = np.append(np.cumsum(self.lengths) - self.lengths, 0)
        lengths = np.append(self.lengths, 0)[rows]
        return Ragged(self.data[_positions(starts[rows], lengths)], lengths)

    def at(self, there: NDArray[np.bool_]) -> Ragged:
        """The strings in those rows that are marked, and empty ones in the others."""
        lengths = np.zeros(len(there), np.int64)
        lengths[there] = self.lengths
        return Ragged(self.data, lengths)


Pieces = tuple[Ragged, ...]
"""Columns whose strings are side by side: they are copied to their place only at the end."""


def joined(pieces: Pieces) -> Ragged:
    """Join the strings of each row."""
    lengths = np.sum([piece.lengths for piece in pieces], axis=0)
    data = np.empty(int(lengths.sum()), np.uint8)
    start = np.cumsum(lengths) - lengths
    for piece in pieces:
        data[_positions(start, piece.lengths)] = piece.data
        start = start + piece.lengths
    return Ragged(data, lengths)


def _positions(starts: Integers, lengths: Integers) -> Integers:
    """The numbers of all bytes of strings that start there and are that long."""
    if len(lengths) and lengths[0] < 16 and (lengths == lengths[0]).all():
        return (starts[:, None] + np.arange(lengths[0])).ravel()
    ends = np.cumsum(lengths)
    positions = np.arange(int(ends[-1]) if len(ends) else 0)
    positions += np.repeat(starts - (ends - lengths), lengths)
    return positions


def strings(values: Iterable[bytes]) -> Ragged:
    """A column of given strings; for few, such as the distinct ones."""
    listed = list(values)
    lengths = np.array([len(value) for value in listed], np.int64)
    return Ragged(np.frombuffer(b"".join(listed), np.uint8), lengths)


def same(value: bytes, count: int) -> Ragged:
    """The same string in each row."""
    data = np.tile(np.frombuffer(value, np.uint8), count)
    return Ragged(data, np.full(count, len(value), np.int64))


def varints(values: Integers) -> Ragged:
    """Numbers in groups of seven bits, the lowest first; negative ones take ten bytes."""
    rest = values.astype(np.int64).view(np.uint64)
    longest = max(-(-int(rest.max(initial=0)).bit_length() // 7), 1)
    lengths = np.ones(len(rest), np.int64)
    for byte in range(1, longest):
        lengths += rest >= np.uint64(1 << (7 * byte))
    wide = np.empty((len(rest), longest), np.uint8)
    for byte in range(longest):
        more = np.where(lengths > byte + 1, 0x80, 0).astype(np.uint8)
        wide[:, byte] = (rest >> np.uint64(7 * byte)).astype(np.uint8) & 0x7F | more
    used = np.arange(wide.shape[1]) < lengths[:, None]
    return Ragged(wide[used], lengths)


def _tag(field: int, wire_type: int) -> bytes:
    return varints(np.array([field << 3 | wire_type])).data.tobytes()


def integer(field: int, values: Integers) -> Pieces:
    """A field of an integer type (int64, uint64, enum, bool)."""
    return same(_tag(field, _VARINT), len(values)), varints(values)


def eight_bytes(field: int, values: NDArray[np.int64] | NDArray[np.float64]) -> Pieces:
    """A field of type fixed64 or double."""
    data = values.astype(values.dtype.newbyteorder("<")).view(np.uint8)
    return same(_tag(field, _FIXED64), len(values)), Ragged(data, np.full(len(values), 8, np.int64))


def message(field: int, content: Pieces) -> Pieces:
    """A field that holds a message, a string or bytes."""
    lengths = np.sum([piece.lengths for piece in content], axis=0)
    return same(_tag(field, _BYTES), len(lengths)), varints(lengths), *content


# ---- one message alone ---------------------------------------------------------------------------


def one_integer(field: int, value: int) -> bytes:
    """An integer field."""
    return joined(integer(field, np.array([value], np.int64))).data.tobytes()


def one_message(field: int, *content: bytes | str) -> bytes:
    """A field that holds a message made of these parts, or a string."""
    data = b"".join(part.encode() if isinstance(part, str) else part for part in content)
    return _tag(field, _BYTES) + varints(np.array([len(data)])).data.tobytes() + data
