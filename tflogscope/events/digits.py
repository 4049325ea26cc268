"""Decimal numbers read from the words of a block, many at a time, eight digits in one step.

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
_POWERS = _U(10) ** np.arange(9, dtype=np.uint64)
_MOST_DIGITS = 19  # of a signed 64-bit number
_LARGEST = _U(2**63 - 1)


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


def signed_numbers(words: Words) -> tuple[NDArray[np.int64], Positions]:
    """Return value and size in bytes of the signed number that each column of 3 words begins with.

    Size 0: there is none, or it has more than 64 bits, or it is the smallest such number.

    Lines that follow each other mostly print the same number (of a step), so it is read only where
    the words change.
    """
    change = np.ones(words.shape[1], bool)
    change[1:] = words[0, 1:] != words[0, :-1]
    for word in words[1:3]:
        change[1:] |= word[1:] != word[:-1]
    values, sizes = _signed_numbers(words[:3, np.flatnonzero(change)])
    which = np.cumsum(change) - 1
    return values[which], sizes[which]


def _signed_numbers(words: Words) -> tuple[NDArray[np.int64], Positions]:
    first, second, third = words
    negative = (first & _U(0xFF)) == _U(ord("-"))
    skip = negative.astype(np.uint64) << _U(3)
    # Shifting by 64 is not defined: by 8 and then by 56, where it is 64 or 56.
    first, second = (
        (word >> skip) | np.where(negative, after << _U(56), _U(0))
        for word, after in ((first, second), (second, third))
    )
    third = third >> skip
    value, count = leading_digits(first)
    for word, full in ((second, 8), (third, 16)):
        more, digits = leading_digits(word)
        goes_on = count == full
        value = np.where(goes_on, value * _POWERS[digits] + more, value)
        count = np.where(goes_on, count + digits, count)
    known = (count > 0) & (count <= _MOST_DIGITS) & (value <= _LARGEST)
    signed = value.astype(np.int64)
    values = np.where(negative, -signed, signed)
    return values, np.where(known, count + negative, 0)
