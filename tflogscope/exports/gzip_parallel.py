"""gzip with all processors: blocks are compressed separately and put into one gzip member.

As pigz does: each block is raw deflate that ends at a byte (RFC 1951, an empty stored block), so
that the next can follow it. Viewers that read one member only can read it.
"""

from __future__ import annotations

import struct
import zlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # deflate, no name, no time: the same input, the same file
_LEVEL = 2  # traces are repetitive: level 6 takes three times as long for a fifth less
_BLOCK = 4_000_000  # bytes
_WORKERS = 2


def gzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces as one gzip file, in pieces."""
    yield _HEAD
    checksum, size = 0, 0
    waiting: deque[Future[bytes]] = deque()
    with ThreadPoolExecutor(_WORKERS, thread_name_prefix="tflogscope-gzip") as pool:
        for piece in pieces:
            checksum = zlib.crc32(piece, checksum)
            size += len(piece)
            for start in range(0, len(piece), _BLOCK):
                waiting.append(pool.submit(_compressed, piece[start : start + _BLOCK]))
            while len(waiting) > 2 * _WORKERS:
                yield waiting.popleft().result()
        for future in waiting:
            yield future.result()
    yield zlib.compressobj(wbits=-zlib.MAX_WBITS).flush()  # the block that ends it
    yield struct.pack("<II", checksum, size & 0xFFFFFFFF)


def _compressed(block: bytes) -> bytes:
    deflate = zlib.compressobj(_LEVEL, wbits=-zlib.MAX_WBITS)
    return deflate.compress(block) + deflate.flush(zlib.Z_SYNC_FLUSH)
