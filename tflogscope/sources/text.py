r"""Make valid UTF-8 of whatever a log holds, with lines of bounded length.

Bytes that are not text become the four characters `\xNN`. So each of them makes the text three
bytes longer, and that is how they are counted.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from tflogscope.native.library import library
from tflogscope.sources.block import Chunk, SourceAccount

HEAD_SIZE = 4096
"""Bytes of the beginning that `encoding_of` wants to see."""

_BYTE_ORDER_MARKS = (
    ("utf-8", codecs.BOM_UTF8),
    ("utf-16-le", codecs.BOM_UTF16_LE),
    ("utf-16-be", codecs.BOM_UTF16_BE),
)
_ESCAPE_GROWTH = 3
_WINDOW = 1 << 16
_HOLE = 64  # NULs in a row; fewer may be what a program prints
_HOLES = re.compile(rb"\0{%d,}" % _HOLE)
_RECORD = re.compile(rb"\.(?:cc|cpp|h):\d+\] ")
_STRING = re.compile(rb'"|Tensor<type: string ')


def encoding_of(head: bytes) -> tuple[str, int]:
    """The encoding of an input that begins with `head`, and the length of its byte order mark."""
    for encoding, mark in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return encoding, len(mark)
    characters, high_bytes = head[::2], head[1::2]
    # NULs alone are not UTF-16 but the hole left where a log was truncated under its writer.
    if len(head) >= 4 and not high_bytes.strip(b"\0") and b"\0" not in characters:
        return "utf-16-le", 0
    return "utf-8", 0


def to_utf8(chunks: Iterable[Chunk], head: bytes, account: SourceAccount) -> Iterator[Chunk]:
    """The chunks without byte order mark, and in UTF-8 where they are UTF-16.

    UTF-8 is not looked at here: it can be checked only where it is cut at line ends.
    """
    encoding, mark = encoding_of(head)
    if mark:
        chunks = _without(chunks, mark)
    return _from_utf16(chunks, encoding, account) if encoding != "utf-8" else iter(chunks)


def _without(chunks: Iterable[Chunk], count: int) -> Iterator[Chunk]:
    for chunk in chunks:
        yield chunk._replace(data=chunk.data[count:]) if count else chunk
        count = max(0, count - len(chunk.data))


def _from_utf16(chunks: Iterable[Chunk], encoding: str, account: SourceAccount) -> Iterator[Chunk]:
    """UTF-8 of UTF-16 with lone surrogates and a cut last character escaped, and counted."""
    decoder = codecs.getincrementaldecoder(encoding)("backslashreplace")
    growth = raw_bytes = position = 0
    for data, raw_bytes, position in chunks:
        text = decoder.decode(data)
        growth += len(text.encode(encoding)) - len(data)
        yield Chunk(text.encode(), raw_bytes, position)
    text = decoder.decode(b"", True)
    growth += len(text.encode(encoding))
    # In UTF-16 the four characters that replace one bad byte take eight.
    account.bad_bytes += growth // 7
    yield Chunk(text.encode(), raw_bytes, position)


def without_holes(chunks: Iterable[Chunk], account: SourceAccount) -> Iterator[Chunk]:
    """The chunks without long runs of NULs, so that what is behind one is a line of its own length.

    A writer goes on where it was in a file that someone truncated, and leaves a hole before it.
    """
    open_ = removed = raw_bytes = position = 0  # NULs at the end, which may go on
    for data, raw_bytes, position in chunks:
        text = data
        if open_ or b"\0" in data:
            # To compare is ten times as quick, and a hole may be all of a disk.
            text = b"" if data == bytes(len(data)) else data.lstrip(b"\0")
            open_ += len(data) - len(text)
            if text:
                before = open_ if open_ < _HOLE else 0
                removed += open_ - before
                body = text.rstrip(b"\0")
                open_ = len(text) - len(body)
                text = bytes(before) + _HOLES.sub(b"", body)
                removed += before + len(body) - len(text)
        yield Chunk(text, raw_bytes, position)
    if open_ < _HOLE:
        yield Chunk(bytes(open_), raw_bytes, position)
    else:
        removed += open_
    if removed:
        account.report(
            f"{removed:,} bytes are NUL, as where logrotate truncates a log that is being written: "
            "lines are missing there"
        )


def clean(raw: bytes, cap: int, account: SourceAccount) -> bytes:
    """Clean text of `raw`, which is some whole lines, each ended by a line feed.

    No line of the result is longer than `cap`. What was escaped or cut goes to the account.
    """
    if library().tflogscope_is_plain(raw, len(raw), cap):
        return raw
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n")
    text = escape(raw)
    if next(long_lines(text, cap), None) is not None:
        return b"".join(_clean_with_long_lines(raw, cap, account))
    account.bad_bytes += _bad_bytes(raw, text)
    return text


def _bad_bytes(raw: bytes, text: bytes) -> int:
    """How many bytes of `raw` were no text, those of strings in a record left out.

    TensorFlow prints the bytes of strings as they are: in quotes (DebugString of tensors) cut
    anywhere, as values of a `Tensor<…>` without quotes.
    """
    lines = raw.split(b"\n") if len(text) > len(raw) else []
    quoted = [_quoted(line) for line in lines if not line.isascii()]
    grown = sum(len(escape(quote)) - len(quote) for quote in quoted)
    return (len(text) - len(raw) - grown) // _ESCAPE_GROWTH


def _quoted(line: bytes) -> bytes:
    """From the first string in the text of a record to the last quote; empty: there are none."""
    record = _RECORD.search(line)
    first = _STRING.search(line, record.end()) if record else None
    return line[first.start() : line.rfind(b'"')] if first else b""


def _clean_with_long_lines(raw: bytes, cap: int, account: SourceAccount) -> Iterator[bytes]:
    done = 0
    # A line of a quarter of the cap is not too long, even if all its bytes have to be escaped.
    for start, end in chain(long_lines(raw, cap // 4), [(len(raw), len(raw))]):
        text = escape(raw[done:start])
        account.bad_bytes += _bad_bytes(raw[done:start], text)
        yield text
        if start < end:
            yield clean_line(raw[start : end - 1], cap, account)
        done = end


def clean_line(body: bytes, cap: int, account: SourceAccount, size: int | None = None) -> bytes:
    """Clean text of one line given without its end, with a line feed.

    Of a line of `size` bytes, more than `cap`, `body` may be the first `cap` + 1 bytes only.
    """
    start = body[: character_start(body, cap)] if len(body) > cap else body
    text = escape(start)
    if len(text) > cap:  # a quarter has room, even if all its bytes have to be escaped
        start = body[: character_start(body, cap // 4)]
        text = escape(start)
    account.bad_bytes += _bad_bytes(start, text)
    dropped = (len(body) if size is None else size) - len(start)
    if dropped:
        account.cut_lines += 1
        account.cut_bytes += dropped
    return text + b"\n"


def escape(raw: bytes) -> bytes:
    """`raw` as valid UTF-8 without NULs. Raw text may begin and end at any `character_start`."""
    if not raw.isascii():
        raw = b"".join(
            piece if piece.isascii() else piece.decode("utf-8", "backslashreplace").encode()
            for piece in _pieces(raw)
        )
    return raw.replace(b"\0", rb"\x00") if b"\0" in raw else raw


def _pieces(raw: bytes) -> Iterator[bytes]:
    """`raw` cut at line ends, as most of a log is ASCII even if some word in it is not."""
    start = 0
    while start < len(raw):
        end = raw.find(b"\n", start + _WINDOW) + 1 or len(raw)
        yield raw[start:end]
        start = end


def character_start(raw: bytes, position: int) -> int:
    """The last place not after `position` where `raw` can be cut and no character with it."""
    for place in range(position, max(-1, position - 4), -1):
        if raw[place] & 0xC0 != 0x80:
            return place
    # Four continuation bytes in a row: the last one belongs to no character.
    return position


def long_lines(text: bytes, cap: int) -> Iterator[tuple[int, int]]:
    """Start and end of each line of more than `cap` bytes; `text` ends with a line feed.

    It jumps: the last line feed among the next `cap` + 1 bytes says that no line before it is long.
    """
    start = 0
    while len(text) - start > cap + 1:
        end = text.rfind(b"\n", start, start + cap + 1) + 1
        if end == 0:
            end = text.find(b"\n", start) + 1
            yield start, end
        start = end
