"""The text of a log as it is written: from a file that grows, or from a pipe.

A file that is replaced (another one has its name) or cut short ends, and begins anew.
"""

from __future__ import annotations

import io
import os
import select
import stat
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tflogscope.grammar.load import load_grammar
from tflogscope.grammar.model import Grammar
from tflogscope.model.common.origin import header_of
from tflogscope.sources.block import BLOCK_SIZE, Block, SourceAccount
from tflogscope.sources.decompress import MAGIC_SIZE, codec_of
from tflogscope.sources.lines import read_blocks
from tflogscope.sources.readers import PIECE, readable, widen
from tflogscope.sources.streams import followed
from tflogscope.sources.text import HEAD_SIZE

_POLL_SECONDS = 0.1  # between two looks at a file
_KEPT = BLOCK_SIZE  # bytes that a reader may go back, to where an archive ended

Receive = Callable[[], bytes]
"""Waits for more bytes and returns them; none at the end."""


class Beginning:
    """A log, or what came in the place of its file, as `Scan` reads it."""

    size: int | None = None

    def __init__(
        self, name: str, receive: Receive, grammar: Grammar | None = None, part: str | None = None
    ) -> None:
        """`part`: which process of several (`FILE#part`)."""
        self.name = name
        self._grammar, self._asked = grammar or load_grammar(), part
        self.account = SourceAccount()
        self.header: dict[str, Any] | None = None
        """What `tflogscope record` wrote above it."""
        self._reader = _Arriving(receive)

    def blocks(self) -> Iterator[Block]:
        """Whole lines as they come. Raises InputError if the system refuses to read."""
        # What is packed would wait until it makes a whole block.
        packed = codec_of(self._reader.read_at(0, MAGIC_SIZE)) is not None
        size = HEAD_SIZE if packed else BLOCK_SIZE
        blocks = read_blocks(self._reader, self.account, block_size=size)
        blocks = followed(blocks, self._grammar, self.account, self._asked)
        for number, block in enumerate(blocks):
            if number == 0:
                self.header = header_of(block.text)
            yield block


class _Arriving:
    """A `Reader` of bytes as they come: it waits only where there is not one more."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._kept = bytearray()
        self._first = 0  # what has been given up before `_kept`
        self._read: int | None = None
        self._ended = False

    def read_at(self, position: int, count: int) -> bytes:
        """See `Reader`; fewer bytes where no more have come."""
        self._wait(position)
        start = position - self._first
        data = bytes(self._kept[start : start + count]) if start >= 0 else b""
        if self._read is not None:
            self._read = position + len(data)
        return data

    def reach(self, position: int) -> int:
        """See `Reader`: the end so far if that comes first.

        What was read before this is first asked for is looked at again.
        """
        self._wait(self._read or 0)
        self._read = self._read or 0
        return min(position, self._first + len(self._kept))

    def close(self) -> None:
        """See `Reader`."""

    def _wait(self, position: int) -> None:
        """Wait for a byte behind `position`."""
        while not self._ended and self._first + len(self._kept) <= position:
            data = self._receive()
            self._ended = not data
            if len(self._kept) > 2 * _KEPT:
                self._first += len(self._kept) - _KEPT
                del self._kept[:-_KEPT]
            self._kept += data


class GrowingFile:
    """A file by its name, followed until it is another or shorter; what reads each, by iteration.

    A FIFO is followed when its writers are gone, too: others may come.
    """

    def __init__(self, path: str) -> None:
        """Raises InputError if it can't be read."""
        self._path = path
        self._stopped = threading.Event()
        with readable(path):
            self._file: io.FileIO | None = io.FileIO(path, opener=_open)

    def stop(self) -> None:
        """Read what is there, but of a FIFO nothing, and follow no more."""
        self._stopped.set()

    def __iter__(self) -> Iterator[Receive]:
        while self._file is not None:
            yield partial(self._receive, self._file)
            self._file = self._next()

    def _next(self) -> io.FileIO | None:
        """Wait for another file of that name."""
        with readable(self._path):
            while not self._stopped.is_set():
                try:
                    return io.FileIO(self._path, opener=_open)
                except FileNotFoundError:  # its writer will make it anew
                    self._stopped.wait(_POLL_SECONDS)
        return None

    def _receive(self, file: io.FileIO) -> bytes:
        with readable(self._path):
            while not (data := self._read(file)):
                if self._stopped.is_set() or self._is_another(file):
                    data = self._read(file)  # what was written in between
                    break
                if data is None:  # its writers may be quick: a FIFO holds 64 kB
                    select.select([file], [], [], _POLL_SECONDS)
                else:
                    self._stopped.wait(_POLL_SECONDS)
        if not data:
            file.close()
        return data or b""

    def _read(self, file: io.FileIO) -> bytes | None:
        """More of it; None: a FIFO has writers, and they have written nothing more."""
        return b"" if self._stopped.is_set() and not _is_regular(file) else file.read(PIECE)

    def _is_another(self, file: io.FileIO) -> bool:
        """Whether the name has another file by now, or the file became shorter."""
        if _is_regular(file) and os.fstat(file.fileno()).st_size < file.tell():
            return True
        try:
            return not os.path.samestat(os.stat(self._path), os.fstat(file.fileno()))
        except FileNotFoundError:
            return False  # moved away: its writer may still write to it


def _open(path: str, flags: int) -> int:
    """Open a file without waiting: a FIFO has no writer yet, or no line."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _is_regular(file: io.FileIO) -> bool:
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)


def pipe(stream: io.FileIO, name: str) -> Receive:
    """More of a pipe, as it comes. Its buffer would be locked by the thread that waits for it."""
    widen(stream)  # else each 64 KB are a block

    def receive() -> bytes:
        with readable(name):
            return stream.read(PIECE) or b""

    return receive
