"""A log that is one string of JSON, longer than a line may be: its lines, as they come."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from tflogscope.sources.block import LINE_CAP, Chunk

_LONGEST = 12  # characters of an escape: a pair of surrogates
# Whole characters and escapes.
_WHOLE = re.compile(
    r'(?:[^"\\]+|\\["\\/bfnrt]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}'
    r"|\\u(?![dD][89abAB])[0-9a-fA-F]{4})*"
)


def in_lines(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Chunks of UTF-8 that are cut anywhere: of a string without a line feed, the text in it.

    Shorter ones are lines, which `objects.py` reads.
    """
    chunks, size, first = iter(chunks), 0, list[Chunk]()
    for chunk in chunks:
        first.append(chunk)
        size += len(chunk.data)
        if size > LINE_CAP or not first[0].data.startswith(b'"') or b"\n" in chunk.data:
            break
    is_string = size > LINE_CAP and first[0].data.startswith(b'"') and b"\\n" in first[0].data
    if is_string and b"\n" not in b"".join(chunk.data for chunk in first)[:LINE_CAP]:
        return _unquoted(chain(first, chunks))
    return chain(first, chunks)


def _unquoted(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The text in a string; what is behind its end stays as it is."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    rest, skipped = "", 1  # the quote
    for chunk in chunks:
        rest += decode(chunk.data)[skipped:]
        skipped, made, ended = 0, "", False
        while not ended:
            match = _WHOLE.match(rest)
            end = match.end() if match else 0
            made += json.loads(f'"{rest[:end]}"', strict=False)
            rest = rest[end:]
            ended = rest[:1] == '"' or len(rest) < _LONGEST
            if not ended:  # no escape of JSON
                made, rest = made + rest[0], rest[1:]
        yield chunk._replace(data=made.encode("utf-8", "backslashreplace"))
        if rest[:1] == '"':
            yield chunk._replace(data=rest[1:].encode())
            yield from chunks
            return
    if rest:
        yield chunk._replace(data=rest.encode("utf-8", "backslashreplace"))
