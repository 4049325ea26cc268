"""Strings as numbers of buckets: StringToHashBucketFast.

Told about: `core/kernels/string_to_hash_bucket_fast_op.h`; `Hash64` of the library farmhash
(`farmhashna`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.gradients import not_differentiable
from tflogscope.runtime.ops.declare import op

__all__ = ["fingerprint"]

_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_ALL = 2**64 - 1


def fingerprint(text: bytes) -> int:
    """A number of 64 bits that is the same everywhere and always."""
    if len(text) <= 16:
        return _short(text)
    if len(text) <= 32:
        return _medium(text)
    if len(text) <= 64:
        return _longer(text)
    return _long(text)


def _at(text: bytes, place: int, size: int = 8) -> int:
    return int.from_bytes(text[place : place + size], "little")


def _turned(value: int, by: int) -> int:
    value &= _ALL
    return (value >> by | value << 64 - by) & _ALL


def _mixed(value: int) -> int:
    value &= _ALL
    return value ^ value >> 47


def _joined(one: int, other: int, factor: int) -> int:
    first = _mixed((one ^ other) * factor)
    return _mixed(((other & _ALL) ^ first) * factor) * factor & _ALL


def _short(text: bytes) -> int:
    size = len(text)
    factor = _K2 + size * 2
    if size >= 8:
        a, b = _at(text, 0) + _K2, _at(text, size - 8)
        return _joined(
            (_turned(b, 37) * factor + a) & _ALL, (_turned(a, 25) + b) * factor & _ALL, factor
        )
    if size >= 4:
        return _joined(size + (_at(text, 0, 4) << 3), _at(text, size - 4, 4), factor)
    if size:
        y, z = text[0] + (text[size >> 1] << 8), size + (text[-1] << 2)
        return _mixed(y * _K2 & _ALL ^ z * _K0 & _ALL) * _K2 & _ALL
    return _K2


def _medium(text: bytes) -> int:
    size = len(text)
    factor = _K2 + size * 2
    a, b = _at(text, 0) * _K1, _at(text, 8)
    c, d = _at(text, size - 8) * factor, _at(text, size - 16) * _K2
    one = _turned(a + b, 43) + _turned(c, 30) + d
    return _joined(one & _ALL, (a + _turned(b + _K2, 18) + c) & _ALL, factor)


def _longer(text: bytes) -> int:
    size = len(text)
    factor = _K2 + size * 2
    a, b = _at(text, 0) * _K2, _at(text, 8)
    c, d = _at(text, size - 8) * factor, _at(text, size - 16) * _K2
    y = (_turned(a + b, 43) + _turned(c, 30) + d) & _ALL
    z = _joined(y, (a + _turned(b + _K2, 18) + c) & _ALL, factor)
    e, f = _at(text, 16) * factor, _at(text, 24)
    g, h = (y + _at(text, size - 32)) * factor, (z + _at(text, size - 24)) * factor
    one = _turned(e + f, 43) + _turned(g, 30) + h
    return _joined(one & _ALL, (e + _turned(f + a, 18) + g) & _ALL, factor)


def _pair(text: bytes, place: int, a: int, b: int) -> tuple[int, int]:
    """Two numbers of 32 bytes and two more."""
    w, x, y, z = (_at(text, place + 8 * k) for k in range(4))
    a += w
    b = _turned(b + a + z, 21)
    c = a
    a += x + y
    b += _turned(a, 44)
    return (a + z) & _ALL, (b + c) & _ALL


def _long(text: bytes) -> int:
    y = (81 * _K1 + 113) & _ALL
    z = _mixed(y * _K2 + 113) * _K2 & _ALL
    x = (81 * _K2 + _at(text, 0)) & _ALL
    v = w = (0, 0)
    rest = len(text) - 1 & 63
    for place in range(0, (len(text) - 1) // 64 * 64, 64):
        x, y, z, v, w = _round(text, place, (x, y, z), v, w, (_K1, 1))
    factor = _K1 + ((z & 0xFF) << 1)
    first = w[0] + rest
    v = ((v[0] + first) & _ALL, v[1])
    w = ((first + v[0]) & _ALL, w[1])
    x, y, z, v, w = _round(text, len(text) - 64, (x, y, z), v, w, (factor, 9))
    one = _joined(v[0], w[0], factor) + _mixed(y) * _K0 + z
    return _joined(one & _ALL, (_joined(v[1], w[1], factor) + x) & _ALL, factor)


def _round(
    text: bytes, place: int, numbers: tuple[int, int, int], v: Any, w: Any, by: tuple[int, int]
) -> tuple[int, int, int, Any, Any]:
    """What 64 bytes change."""
    (x, y, z), (factor, times) = numbers, by
    x = _turned(x + y + v[0] + _at(text, place + 8), 37) * factor & _ALL
    y = _turned(y + v[1] + _at(text, place + 48), 42) * factor & _ALL
    x ^= w[1] * times & _ALL
    y = (y + v[0] * times + _at(text, place + 40)) & _ALL
    z = _turned(z + w[0], 33) * factor & _ALL
    v = _pair(text, place, v[1] * factor, x + w[0])
    w = _pair(text, place + 32, z + w[1], y + _at(text, place + 16))
    return z, y, x, v, w


@op("StringToHashBucketFast(input: string; num_buckets) -> output: int64")
def _bucket(input: NDArray[Any], num_buckets: int) -> NDArray[Any]:
    numbers = [fingerprint(bytes(each)) % num_buckets for each in input.ravel()]
    return np.array(numbers, np.int64).reshape(input.shape)


not_differentiable("StringToHashBucketFast")
