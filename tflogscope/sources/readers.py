"""Bytes by position, from files and from what can be read only once.

Files are read, never mapped: a mapped file that someone truncates kills the process.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import queue
import re
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from io import RawIOBase
from typing import BinaryIO, Protocol, TypeVar

from tflogscope.errors import InputError

PIECE = 1 << 20
"""Bytes of a pipe that are read at once: as many as one may hold for an ordinary user of Linux."""
_PIECES = 8  # in memory: more than what the first lines are looked for in
_MOVING = threading.Lock()


class Reader(Protocol):
    """Bytes of one source by position. Raises InputError where the system refuses to read."""

    def read_at(self, position: int, count: int) -> bytes:
        """The `count` bytes from `position`; fewer only where the input ends."""

    def reach(self, position: int) -> int:
        """`position`, or the end of the input if that comes first."""

    def close(self) -> None:
        """Give back what the system lent for this pass."""


class PlainFile:
    """A file of known size. What others append while it is read is left for the next pass."""

    def __init__(self, file: io.FileIO, name: str, start: int = 0, size: int | None = None) -> None:
        """`size`: read no more than that, from `start` on."""
        self._file = file
        self._name = name
        self._start = start
        here = max(0, os.fstat(file.fileno()).st_size - start)
        self._size = here if size is None else min(here, size)

    def read_at(self, position: int, count: int) -> bytes:
        """See `Reader`. Fewer bytes, too, where the file has been truncated meanwhile."""
        count = self.reach(position + count) - position
        with readable(self._name):
            return _read_all(self._file, self._start + position, count)

    def reach(self, position: int) -> int:
        """See `Reader`."""
        return min(position, self._size)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Spool:
    """A pipe. Its last few megabytes are in memory; a temporary file has all of it, unless nobody
    will read it again.

    The file has no name and goes with the process. `close` leaves it for the next pass; `discard`
    ends it.
    """

    def __init__(self, stream: RawIOBase, name: str, *, owned: bool) -> None:
        """`owned`: nobody else uses the stream, so `discard` closes it."""
        self._owned = [stream] if owned else []
        widen(stream)
        self._name = name
        self._receive = stream.readinto  # of a raw stream: it does not wait for all it may take
        self._pieces: deque[bytearray] = deque()
        self._first = 0  # number of the first of these
        self._handed = 0  # how many the file was given
        self._size = 0
        self._ended = self._is_last_pass = False
        self._kept: BinaryIO | None = None
        # A pass that was given up may still be waiting in another thread (see read_ahead).
        self._lock = threading.Lock()

    def keep(self) -> None:
        """Keep all of it in a file. Raises InputError if there is no room."""
        with self._lock:
            self._keep()

    def let_go(self) -> None:
        """Keep nothing from now on: no other pass will follow."""
        self._is_last_pass = self._kept is None

    def read_at(self, position: int, count: int) -> bytes:
        """See `Reader`."""
        with self._lock:
            count = max(0, self._fill(position + count) - position)
            gone = min(count, max(0, self._first * PIECE - position))
            rest = self._in_memory(position + gone, count - gone)
        if not gone:
            return rest
        if self._kept is None:  # `again` of its source was wrong
            raise InputError("was already read and can't be read again", self._name)
        with readable(self._name):
            return _read_all(self._kept, position, gone) + rest

    def reach(self, position: int) -> int:
        """See `Reader`. Waits for the writer of the pipe."""
        with self._lock:
            return self._fill(position)

    def close(self) -> None:
        """Nothing: the next pass needs all of it."""

    def discard(self) -> None:
        """Delete the temporary file."""
        if self._kept is not None:
            self._kept.close()
        for stream in self._owned:
            stream.close()

    def _in_memory(self, position: int, count: int) -> bytes:
        place, begin = divmod(position - self._first * PIECE, PIECE)
        parts = []
        while count:
            parts.append(memoryview(self._pieces[place])[begin : begin + count])
            count -= len(parts[-1])
            place, begin = place + 1, 0
        return b"".join(parts)

    def _fill(self, position: int) -> int:
        while self._size < position and not self._ended:
            place = self._size % PIECE
            if place == 0:
                self._pieces.append(self._next_piece())
            with readable(self._name):
                count = self._receive(memoryview(self._pieces[-1])[place:])
            self._ended = not count
            self._size += count or 0
            self._hand_on()
        return min(position, self._size)

    def _next_piece(self) -> bytearray:
        if len(self._pieces) < _PIECES:
            return bytearray(PIECE)
        if not self._is_last_pass:
            self._keep()
        self._first += 1
        return self._pieces.popleft()

    def _keep(self) -> None:
        if self._kept is not None:
            return
        import tempfile  # it takes as long as all readers, and most logs are files

        with keepable(self._name):
            self._kept = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (lives for many passes)
        self._hand_on()

    def _hand_on(self) -> None:
        """Give the file the pieces that are complete, and the last one."""
        if self._kept is None:
            return
        while self._handed < self._size // PIECE:
            self._write(self._kept, memoryview(self._pieces[self._handed - self._first]))
            self._handed += 1
        if self._ended:
            self._write(self._kept, memoryview(self._pieces[-1])[: self._size % PIECE])

    def _write(self, file: BinaryIO, piece: memoryview) -> None:
        with keepable(self._name), _MOVING:
            file.seek(0, os.SEEK_END)
            while piece:
                piece = piece[file.write(piece) :]


def widen(pipe: RawIOBase | int) -> bool:
    """Let a pipe hold a whole piece, where that can be set; say whether it does.

    Else its writer and its reader take turns: a pipe of Linux' holds 64 KB.
    """
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):  # it is no pipe, or this user has too many large ones
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIECE)
            return True
    return False


_WILDCARD = re.compile(r"[*?\[]")
_NO_WILDCARDS = " tflogscope doesn't expand wildcards; the shell does."


def unreadable(name: str, error: OSError) -> InputError:
    """The InputError for what the system said about the input called `name`."""
    hints = {
        errno.ENOENT: "Check the path." + _NO_WILDCARDS * bool(_WILDCARD.search(name)),
        errno.EACCES: "Get permission to read it, or a copy.",
    }
    reason = error.strerror or str(error)
    return InputError(f"can't be read: {reason}", name, hints.get(error.errno or 0))


@contextlib.contextmanager
def readable(name: str) -> Iterator[None]:
    """Raise InputError where the system refuses to read the input called `name`."""
    try:
        yield
    except OSError as error:
        raise unreadable(name, error) from error


@contextlib.contextmanager
def keepable(name: str) -> Iterator[None]:
    """Raise InputError where there is no room to keep the input called `name`."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"can't save a temporary copy: {error.strerror or error}",
            name,
            "Save it to a file and pass that, or set TMPDIR to a directory with free space.",
        ) from error


def _read_all(file: io.FileIO | BinaryIO, position: int, count: int) -> bytes:
    """`count` bytes, or all there are. Nearly always one read does it, and nothing is copied."""
    data = _read(file, position, count)
    if len(data) == count or not data:
        return data
    parts = [data]
    missing = count - len(data)
    while missing and (data := _read(file, position + count - missing, missing)):
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)


def _read(file: io.FileIO | BinaryIO, position: int, count: int) -> bytes:
    """Some bytes, none at the end.

    All passes over a shell's `< run.log` share one place in the file, and two may run at once.
    """
    if hasattr(os, "pread"):
        return os.pread(file.fileno(), count, position)
    with _MOVING:
        file.seek(position)
        return file.read(count) or b""


T = TypeVar("T")

# How long a consumer that stops early waits for the thread. A thread that waits for a silent pipe
# can't be stopped; it is a daemon, and nobody waits for it.
_PATIENCE_SECONDS = 1.0


def read_ahead(
    blocks: Iterable[T], depth: int = 2, *, patience: float | None = None, idle: T | None = None
) -> Generator[T, None, None]:
    """The same items, made in a thread up to `depth` ahead.

    The thread starts with the first item asked for. What `blocks` raises is raised here. When
    this generator is closed, the thread ends and closes `blocks`. `idle` is given each time that
    nothing has come for `patience` seconds.
    """
    ready: queue.Queue[T | BaseException] = queue.Queue(maxsize=max(1, depth))
    stop = threading.Event()
    worker = threading.Thread(
        target=_produce, args=(blocks, ready, stop), name="tflogscope-read-ahead", daemon=True
    )
    worker.start()
    try:
        while not isinstance(item := _next(ready, patience, idle), BaseException):
            yield item
        if not isinstance(item, StopIteration):
            raise item
    finally:
        stop.set()
        with contextlib.suppress(queue.Empty):
            while True:  # makes room for the one item that the thread may be waiting to put
                ready.get_nowait()
        worker.join(_PATIENCE_SECONDS)


def _next(
    ready: queue.Queue[T | BaseException], patience: float | None, idle: T | None
) -> T | BaseException:
    try:
        return ready.get(timeout=patience)
    except queue.Empty:
        if idle is None:
            raise
        return idle


def _produce(
    blocks: Iterable[T], ready: queue.Queue[T | BaseException], stop: threading.Event
) -> None:
    end: BaseException = StopIteration()
    iterator: Iterator[T] = iter(blocks)
    try:
        for item in iterator:
            ready.put(item)
            if stop.is_set():
                break
        if isinstance(iterator, Generator):
            iterator.close()
    except BaseException as error:  # noqa: BLE001 (raised again by the consumer)
        end = error
    if not stop.is_set():
        ready.put(end)
