"""Blocks of whole lines out of bytes that are cut anywhere, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

from tflogscope.sources.block import BLOCK_SIZE, LINE_CAP, Block, Chunk, SourceAccount
from tflogscope.sources.decompress import MAGIC_SIZE, codec_of, decompress
from tflogscope.sources.readers import Reader
from tflogscope.sources.strings import in_lines
from tflogscope.sources.text import HEAD_SIZE, clean, clean_line, to_utf8, without_holes

_FIRST_PROBE = 1 << 12
_HEAP_SIZE = 31 << 20


def read_blocks(
    reader: Reader,
    account: SourceAccount,
    *,
    block_size: int = BLOCK_SIZE,
    line_cap: int = LINE_CAP,
) -> Iterator[Block]:
    """One pass over an input. The account is complete when it ends.

    `block_size` and `line_cap` are for tests. Raises InputError if the system refuses to read.
    """
    chunks = in_lines(read_chunks(reader, account, block_size))
    return blocks_of(chunks, account, line_cap=line_cap)


def read_chunks(
    reader: Reader, account: SourceAccount, block_size: int = BLOCK_SIZE
) -> Iterator[Chunk]:
    """The input unpacked and in UTF-8, cut anywhere. Raises InputError as `read_blocks` does."""
    _keep_memory()
    head = reader.read_at(0, HEAD_SIZE)
    codec = codec_of(head[:MAGIC_SIZE])
    if codec is None:
        chunks = _plain_chunks(reader, account, block_size)
    else:
        chunks = decompress(reader, codec, account, max(block_size, HEAD_SIZE))
        first = next(chunks, Chunk(b"", 0, 0))
        head = first.data[:HEAD_SIZE]
        chunks = chain([first], chunks)
    return without_holes(to_utf8(chunks, head, account), account)


def _plain_chunks(reader: Reader, account: SourceAccount, size: int) -> Iterator[Chunk]:
    """What is not compressed, cut after a line feed if there is one, so that nothing is copied."""
    position = 0
    while (end := reader.reach(position + size + 1)) > position:
        if end > position + size:
            end = _after_last_line_feed(reader, position, position + size)
        data = reader.read_at(position, end - position)
        if not data:
            account.report("the file shrank while it was being read")
            return
        position += len(data)
        yield Chunk(data, position, position)


@cache
def _keep_memory() -> None:
    """Make glibc take memory of up to this size from its heap and keep it, which halves the time.

    It learns these sizes from what is given back.
    """
    bytes(_HEAP_SIZE)


def _after_last_line_feed(reader: Reader, start: int, end: int) -> int:
    """The position after the last line feed between `start` and `end`; `end` if there is none."""
    size = _FIRST_PROBE
    upper = end
    while upper > start:
        lower = max(start, upper - size)
        place = reader.read_at(lower, upper - lower).rfind(b"\n")
        if place >= 0:
            return lower + place + 1
        upper = lower
        size *= 8
    return end


def blocks_of(
    chunks: Iterable[Chunk], account: SourceAccount, *, line_cap: int = LINE_CAP
) -> Iterator[Block]:
    """Blocks of clean text from chunks of UTF-8 that are cut anywhere."""
    open_line = _OpenLine(line_cap, account)
    raw_bytes = position = 0
    for data, raw_bytes, position in chunks:
        account.bytes = raw_bytes
        end = data.rfind(b"\n") + 1
        if end:
            text = open_line.complete(data, end)
            yield Block(text, raw_bytes, position)
        open_line.add(data[end:])
    if open_line.size:
        yield Block(open_line.close(ended=False), raw_bytes, position)


class _OpenLine:
    """The beginning of a line whose end has not come yet; no more of it than can be of use."""

    def __init__(self, cap: int, account: SourceAccount) -> None:
        self.size = 0
        self._cap = cap
        self._account = account
        self._kept = b""
        self._ends_with_return = False

    def add(self, data: bytes) -> None:
        """More bytes of the line, without its end."""
        if data:
            # One byte more than the cap: it may be the carriage return of the line's end.
            self._kept += data[: max(0, self._cap + 1 - len(self._kept))]
            self.size += len(data)
            self._ends_with_return = data.endswith(b"\r")

    def complete(self, data: bytes, end: int) -> bytes:
        """Clean text of this line and the ones after it, which go on and end in `data[:end]`."""
        if self.size == len(self._kept):
            # Without a copy where nothing is to be put together.
            raw = b"".join((self._kept, memoryview(data)[:end])) if self._kept else data[:end]
            self._reset()
            return clean(raw, self._cap, self._account)
        first = data.find(b"\n")
        self.add(data[:first])
        return self.close(ended=True) + clean(data[first + 1 : end], self._cap, self._account)

    def close(self, *, ended: bool) -> bytes:
        """Clean text of this line; `ended`: by a line feed, not by the end of the input."""
        size = self.size - (ended and self._ends_with_return)
        text = clean_line(self._kept[:size], self._cap, self._account, size)
        self._reset()
        return text

    def _reset(self) -> None:
        self._kept = b""
        self.size = 0
        self._ends_with_return = False
