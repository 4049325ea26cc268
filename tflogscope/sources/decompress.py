"""Unpack gzip, zstd, xz and bzip2, known by their first bytes, in bounded memory.

An archive is one or more members (gzip's word; zstd says frames, xz and bzip2 streams), one after
the other, maybe with zero bytes between and after them. Archives that end early or are damaged give
what can be read of them; the reason goes to the account.
"""

from __future__ import annotations

import bz2
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from tflogscope.sources.block import BLOCK_SIZE, Chunk, SourceAccount
from tflogscope.sources.readers import Reader

MAGIC_SIZE = 16
"""Bytes of the beginning that `codec_of` wants to see."""

_INPUT_SIZE = 1 << 16
# Bytes behind a member that are kept for the next one: a bomb may be of nothing but tiny members.
_READY = 1 << 9
_MOST_EMPTY = 1000  # in a row
_OUTPUT_SIZE = BLOCK_SIZE  # so that no chunk is put together of several
# Archives say how much memory they need; one that asks for more was made to do harm. zstd's own
# limit is the same.
_MEMORY_LIMIT = 1 << 27


class Codec(NamedTuple):
    """A way of compressing."""

    name: str
    magic: re.Pattern[bytes]
    opener: Callable[[], tuple[Callable[[], Decoder], type[Exception]]]
    """What makes a decoder for one member, for one pass; and what that raises for damaged data."""


def codec_of(head: bytes) -> Codec | None:
    """The codec of an input that begins with `head`; None if it is not compressed."""
    return next((codec for codec in _CODECS if codec.magic.match(head)), None)


def decompress(reader: Reader, codec: Codec, account: SourceAccount, size: int) -> Iterator[Chunk]:
    """The unpacked bytes, in chunks of about `size`; the last one may be shorter."""
    parts: list[bytes] = []
    held = total = position = 0
    for data, position in _members(reader, codec, account):
        parts.append(data)
        held += len(data)
        total += len(data)
        if held >= size:
            yield Chunk(b"".join(parts), total, position)
            parts.clear()
            held = 0
    if parts:
        yield Chunk(b"".join(parts), total, position)


def _members(reader: Reader, codec: Codec, account: SourceAccount) -> Iterator[tuple[bytes, int]]:
    """Unpacked bytes, and the position up to which the archive has been read for them."""
    start, ready, empty = 0, b"", 0
    new, damaged = codec.opener()
    while empty < _MOST_EMPTY:
        decoder, position, good = new(), start, 0
        try:
            for data, position in _member(decoder, reader, start, ready):
                good += len(data)
                yield data, position
        except damaged as error:
            account.report(f"{codec.name} archive is damaged: {error}")
            yield from _salvage(reader, codec, start, position, good)
            return
        if not decoder.eof:
            account.report(f"{codec.name} archive is truncated")
            return
        empty = 0 if good else empty + 1
        rest = decoder.unused_data
        start = position - len(rest)
        ready = rest[:_READY]
        if len(ready) < MAGIC_SIZE or ready.startswith(b"\0"):
            start = _skip_zeros(reader, start)
            ready = reader.read_at(start, _READY)
        head = ready[:MAGIC_SIZE]
        if not head:
            return
        if not codec.magic.match(head):
            account.report(f"data after the end of the {codec.name} archive was ignored")
            return
    account.report(f"data after {empty:,} empty parts of the {codec.name} archive was ignored")


def _member(
    decoder: Decoder,
    reader: Reader,
    start: int,
    ready: bytes = b"",
    careful_from: int | None = None,
) -> Iterator[tuple[bytes, int]]:
    """One member from `start` on, whose first bytes may be `ready`.

    From `careful_from` on its bytes are fed one at a time.
    """
    position = start
    while not decoder.eof:
        data = b""
        if decoder.needs_input:
            wanted = _INPUT_SIZE
            if careful_from is not None:
                wanted = min(wanted, max(1, careful_from - position))
            data, ready = ready or reader.read_at(position, wanted), b""
            if not data:
                return
            position += len(data)
        yield decoder.decompress(data, _OUTPUT_SIZE), position


def _salvage(
    reader: Reader, codec: Codec, start: int, position: int, good: int
) -> Iterator[tuple[bytes, int]]:
    """What a damaged member holds after its first `good` bytes, which have been had already.

    A decoder that fails keeps back what it had made of the same piece of input: up to a megabyte,
    and all of a short log whose only fault is its checksum. So the member is unpacked again, and
    fed byte by byte where it failed.
    """
    new, damaged = codec.opener()
    try:
        for data, at in _member(new(), reader, start, b"", max(start, position - _INPUT_SIZE)):
            if good < len(data):
                yield data[good:], at
            good = max(0, good - len(data))
    except damaged:
        return


def _skip_zeros(reader: Reader, position: int) -> int:
    """The position of the first byte from `position` on that is not zero, or of the end."""
    while data := reader.read_at(position, _INPUT_SIZE):
        rest = data.lstrip(b"\0")
        position += len(data) - len(rest)
        if rest:
            break
    return position


class _Gzip:
    """`zlib.decompressobj` with the manners of `bz2.BZ2Decompressor`. It checks header and CRC."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)
        self._full = False

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        # Output that did not fit may wait inside, even when all input is consumed.
        return not self._full and not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        out = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self._full = len(out) == max_length
        return out


Decoder = bz2.BZ2Decompressor | lzma.LZMADecompressor | _Gzip
"""One member. zstd's has the same manners."""


def zstd_module() -> Any:
    """The module of Python 3.14 for zstd, or its backport."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _zstd_opener() -> tuple[Callable[[], Decoder], type[Exception]]:
    zstd = zstd_module()
    return zstd.ZstdDecompressor, zstd.ZstdError


_CODECS = (
    Codec("gzip", re.compile(rb"\x1f\x8b"), lambda: (_Gzip, zlib.error)),
    Codec("zstd", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), _zstd_opener),
    Codec(
        "xz",
        re.compile(rb"\xfd7zXZ\0"),
        lambda: (partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, _MEMORY_LIMIT), lzma.LZMAError),
    ),
    # "BZh9" alone could begin a line of text; the next six bytes (pi, or its root's) could not.
    Codec(
        "bzip2",
        re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
        lambda: (bz2.BZ2Decompressor, OSError),
    ),
)
