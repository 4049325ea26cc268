"""The text of a log as it is written: from a file that grows, or from a pipe.

A file that is replaced (another one has its name) or cut short ends, and begins anew.
"""

from __future__ import annotations

import io
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tflogscope.sources.block import BLOCK_SIZE, Block, SourceAccount
from tflogscope.sources.decompress import MAGIC_SIZE, codec_of
from tflogscope.sources.lines import read_blocks
from tflogscope.sources.readers import unreadable
from tflogscope.sources.text import HEAD_SIZE

_READ = 1 << 20  # bytes
_POLL_SECONDS = 0.1  # between two looks at a file
_MORE_SECONDS = 0.02  # a reader that has more gives it in this time
_KEPT = BLOCK_SIZE  # bytes that a reader may go back, to where an archive ended
_AHEAD = 8  # parts that wait to be scanned: a writer that is quicker waits, or its file does

Receive = Callable[[], bytes]
"""Waits for more bytes and returns them; none at the end."""


@dataclass(frozen=True, slots=True)
class Part:
    """Whole lines of a source, or (`text` is empty) its beginning. `account` is the source's."""

    account: SourceAccount
    text: bytes = b""


class Follow:
    """Reads in a thread what a log has more of, until `stop`."""

    def __init__(self, begin: Callable[[], Receive | None]) -> None:
        """`begin` opens the log, and opens it again when it has ended; None: there is no more."""
        self.ended = False
        """Whether all has been given that there will ever be."""
        self._begin = begin
        self._parts: queue.Queue[Part | BaseException | None] = queue.Queue(_AHEAD)
        self._thread = threading.Thread(target=self._work, name="tflogscope-follow", daemon=True)
        self._thread.start()

    def parts(self, until: float) -> Iterator[Part]:
        """What has come since the last time, but for what comes after `until` (`monotonic`).

        Raises InputError if the log can't be read.
        """
        while not self.ended and time.monotonic() < until:
            try:
                part = self._parts.get(timeout=_MORE_SECONDS)
            except queue.Empty:
                return
            if isinstance(part, BaseException):
                self.ended = True
                raise part
            if part is None:
                self.ended = True
                return
            yield part

    @property
    def is_behind(self) -> bool:
        """Whether parts come more quickly than they are taken."""
        return self._parts.full()

    def _work(self) -> None:
        try:
            while (receive := self._begin()) is not None:
                account = SourceAccount()
                self._parts.put(Part(account))
                for block in _blocks(_Arriving(receive), account):
                    self._parts.put(Part(account, block.text))
            self._parts.put(None)
        except BaseException as error:  # noqa: BLE001  (raised again by `parts`)
            self._parts.put(error)


def _blocks(reader: _Arriving, account: SourceAccount) -> Iterator[Block]:
    # What is packed would wait until it makes a whole block.
    packed = codec_of(reader.read_at(0, MAGIC_SIZE)) is not None
    return read_blocks(reader, account, block_size=HEAD_SIZE if packed else BLOCK_SIZE)


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
    """A file by its name: opened when it is there, followed until it is another or shorter."""

    def __init__(self, path: str) -> None:
        """Raises InputError if it can't be read."""
        self.times = 0
        """How often it was opened."""
        self._path = path
        self._stopped = threading.Event()
        try:
            self._file: io.FileIO | None = io.FileIO(path)
        except OSError as error:
            raise unreadable(path, error) from error

    def stop(self) -> None:
        """Read what is there, and follow no more."""
        self._stopped.set()

    def begin(self) -> Receive | None:
        """See `Follow`. Waits for a file of that name."""
        self.times += 1
        if self.times > 1:
            self._file = None
        while self._file is None and not self._stopped.is_set():
            try:
                self._file = io.FileIO(self._path)
            except FileNotFoundError:  # its writer will make it anew
                self._stopped.wait(_POLL_SECONDS)
            except OSError as error:
                raise unreadable(self._path, error) from error
        return self._receive if self._file else None

    def _receive(self) -> bytes:
        file = self._file
        assert file is not None  # noqa: S101  `begin` has opened it
        try:
            while not (data := file.read(_READ) or b""):
                if self._stopped.is_set() or self._is_another(file):
                    data = file.read(_READ) or b""  # what was written in between
                    break
                self._stopped.wait(_POLL_SECONDS)
        except OSError as error:
            raise unreadable(self._path, error) from error
        if not data:
            file.close()
        return data

    def _is_another(self, file: io.FileIO) -> bool:
        """Whether the name has another file by now, or the file became shorter."""
        if os.fstat(file.fileno()).st_size < file.tell():
            return True
        try:
            return not os.path.samestat(os.stat(self._path), os.fstat(file.fileno()))
        except FileNotFoundError:
            return False  # moved away: its writer may still write to it


def once(receive: Receive) -> Callable[[], Receive | None]:
    """What `Follow` takes of a pipe, which begins once."""
    left = [receive]
    return lambda: left.pop() if left else None


def pipe(stream: io.FileIO, name: str) -> Receive:
    """More of a pipe, as it comes. Its buffer would be locked by the thread that waits for it."""

    def receive() -> bytes:
        try:
            return stream.read(_READ) or b""
        except OSError as error:
            raise unreadable(name, error) from error

    return receive
