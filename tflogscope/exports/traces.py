"""The formats of traces: Chrome's JSON for viewers, folded stacks for flame graphs."""

from __future__ import annotations

import struct
import zlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, BinaryIO

from tflogscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tflogscope.model.run import Run


TRACE_FORMATS = {"chrome": ".json", "folded": ".folded"}  # name: suffix
_GZIP = ".gz"
# speedscope takes a file of this name for one of its own format, which this is not.
_NOT_CHROME = ".speedscope.json"
_HINT = (
    "Use chrome (.json, .json.gz), which Perfetto, speedscope and chrome://tracing open, "
    "or folded (.folded), for flame graphs."
)


def trace_format(path: str | None, name: str | None) -> str:
    """The format that is asked for: by name, else by the file's suffix, else `chrome`.

    Args:
        path: the file, which may have `.gz` at its end; case does not matter. None: no file.
        name: one of `TRACE_FORMATS`; None: not said.

    Raises:
        UsageError: there is no such format, or none has that suffix.
    """
    if name is not None:
        if name not in TRACE_FORMATS:
            raise UsageError("no such trace format", name, _HINT)
        return name
    if path is None:
        return "chrome"
    file = path.lower().removesuffix(_GZIP)
    if not file.endswith(_NOT_CHROME):
        for form, suffix in TRACE_FORMATS.items():
            if file.endswith(suffix):
                return form
    raise UsageError("not a suffix of a trace format", path, _HINT)


def write_trace(
    run: Run, stream: BinaryIO, name: str, made_by: str, *, path: str | None = None
) -> None:
    """Write the trace of a run.

    Args:
        run: what to draw.
        stream: takes bytes; need not seek.
        name: one of `TRACE_FORMATS`.
        made_by: the program and its version.
        path: the name of the file; `.gz` at its end compresses it.

    Raises:
        OSError: the stream can't be written.
    """
    from tflogscope.exports.trace_chrome import chrome_json
    from tflogscope.exports.trace_folded import folded_stacks

    pieces = chrome_json(run, made_by) if name == "chrome" else folded_stacks(run)
    is_gzip = path is not None and path.lower().endswith(_GZIP)
    stream.writelines(gzipped(pieces) if is_gzip else pieces)


# ---- gzip with all processors --------------------------------------------------------------------
# As pigz does: each block is raw deflate that ends at a byte (RFC 1951, an empty stored block), so
# that the next can follow it. Viewers that read one member only can read it.

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
