"""Decimal numbers read from the bytes of a block, many at a time, eight digits in one step.

polars would need a string per number; here a number costs a load and a dozen integer operations
(the method is known as SWAR, "SIMD within a register").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Positions = NDArray[np.int64]

_U = np.uint64
_ZEROS = _U(0x3030303030303030)
_LOW_NIBBLES = _U(0x0F0F0F0F0F0F0F0F)
_HIGH_BITS = _U(0x8080808080808080)


def words_of(block: bytes) -> Words:
    """Return a view of `block` as the little-endian 8-byte word that starts at each byte."""
    block = block.ljust(8, b"\0")
    return np.ndarray((len(block) - 7,), np.dtype("<u8"), buffer=block, strides=(1,))


def eight_digits(words: Words) -> Words:
    """Return the value of eight ASCII digits in each word; bytes of value 0 count as digit 0."""
    pairs = ((words & _LOW_NIBBLES) * _U(2561)) >> _U(8)
    fours = ((pairs & _U(0x00FF00FF00FF00FF)) * _U(6553601)) >> _U(16)
    return ((fours & _U(0x0000FFFF0000FFFF)) * _U(42949672960001)) >> _U(32)


def leading_digits(words: Words) -> tuple[Words, Positions]:
    """Return value and count (0 to 8) of the digits that each word begins with."""
    offset = words ^ _ZEROS
    # A byte above 9 after the xor is no digit; adding 0x76 carries it into its top bit.
    not_digit = (((offset & ~_HIGH_BITS) + _U(0x7676767676767676)) | offset) & _HIGH_BITS
    lowest = not_digit & (~not_digit + _U(1))
    count = np.bitwise_count(lowest - _U(1)) >> 3  # bits below the first byte that is no digit
    # Digits move to the top of the word; shifting by 64 is not defined, and no digit is value 0.
    shift = _U(64) - (count.astype(np.uint64) << _U(3))
    value = np.where(count > 0, eight_digits(offset << (shift & _U(63))), _U(0))
    return value, count.astype(np.int64)


def numbers_at(words: Words, starts: Positions, most: int) -> tuple[Words, Positions]:
    """Return value and digit count of the decimal number at each position.

    At most `most` digits are looked at, a multiple of 8; a count of 0 means that there is no
    number. Positions past the end of the block read its last word.
    """
    last = len(words) - 1
    value, count = leading_digits(words[np.minimum(starts, last)])
    for read in range(8, most, 8):
        rows = np.flatnonzero(count == read)
        if not len(rows):
            break
        more, digits = leading_digits(words[np.minimum(starts[rows] + read, last)])
        value[rows] = value[rows] * _POWERS[digits] + more
        count[rows] += digits
    return value, count


_POWERS = _U(10) ** np.arange(9, dtype=np.uint64)
