from __future__ import annotations

import gzip
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tflogscope.exports.gzip_parallel import gzipped
from tflogscope.exports.ragged import Ragged, joined, message, one_integer, strings, varints


def varint(value: int) -> bytes:
    """The encoding as described, one number at a time."""
    value &= (1 << 64) - 1
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_varints(values: list[int]) -> None:
    made = varints(np.array(values, np.int64))
    assert made.data.tobytes() == b"".join(map(varint, values))
    assert made.lengths.tolist() == [len(varint(value)) for value in values]


@given(st.lists(st.tuples(st.binary(max_size=200), st.binary(max_size=3))), st.randoms())
def test_columns_of_strings_are_joined_and_taken_row_by_row(
    rows: list[tuple[bytes, bytes]], random: Any
) -> None:
    columns: list[Ragged] = [
        strings(column) for column in ([a for a, _ in rows], [b for _, b in rows])
    ]
    both = joined(tuple(columns))
    assert both.data.tobytes() == b"".join(a + b for a, b in rows)
    order = [random.randrange(-1, len(rows)) for _ in range(9)]
    taken = both.take(np.array(order, np.int64))
    assert taken.data.tobytes() == b"".join(b"" if n < 0 else b"".join(rows[n]) for n in order)
    framed = joined(message(2, (both,))).data.tobytes()
    assert framed == b"".join(b"\x12" + varint(len(a + b)) + a + b for a, b in rows)
    assert one_integer(11, 300) == b"\x58\xac\x02"


@given(st.lists(st.binary(max_size=3000)))
def test_gzip_is_read_by_others(pieces: list[bytes]) -> None:
    assert gzip.decompress(b"".join(gzipped(pieces))) == b"".join(pieces)


def test_gzip_of_more_than_a_block() -> None:
    piece = bytes(range(256)) * 20_000
    assert gzip.decompress(b"".join(gzipped([piece] * 3))) == piece * 3
