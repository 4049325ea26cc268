"""Bytes by position, from files and from what can be read only once.

Files are read, never mapped: a mapped file that someone truncates kills the process.
"""

from __future__ import annotations

import errno
import io
import os
import threading
from typing import BinaryIO, Protocol

from tflogscope.errors import InputError

_PIPE_READ = 1 << 20
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
        try:
            data = _read_all(self._file, self._start + position, count)
        except OSError as error:
            raise unreadable(self._name, error) from error
        return data

    def reach(self, position: int) -> int:
        """See `Reader`."""
        return min(position, self._size)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Spool:
    """A pipe, kept in a temporary file as far as it has been read, so that it can be read again.

    The temporary file has no name and goes with the process. `close` leaves it for the next pass;
    `discard` ends it.
    """

    def __init__(self, stream: BinaryIO, name: str, *, owned: bool) -> None:
        """`owned`: nobody else uses the stream, so `discard` closes it."""
        import tempfile  # it takes as long as all readers, and most logs are files

        self._owned = [stream] if owned else []
        self._name = name
        # BufferedReader.read() waits until it has all it was asked for, read1() does not.
        self._receive = getattr(stream, "read1", stream.read)
        try:
            self._kept = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (lives for many passes)
        except OSError as error:
            raise no_room(name, error) from error
        self._size = 0
        self._ended = False
        # A pass that was given up may still be waiting in another thread (see read_ahead).
        self._lock = threading.Lock()

    def read_at(self, position: int, count: int) -> bytes:
        """See `Reader`."""
        with self._lock:
            count = self._fill(position + count) - position
            return _read_all(self._kept, position, count)

    def reach(self, position: int) -> int:
        """See `Reader`. Waits for the writer of the pipe."""
        with self._lock:
            return self._fill(position)

    def close(self) -> None:
        """Nothing: the next pass needs all of it."""

    def discard(self) -> None:
        """Delete the temporary file."""
        self._kept.close()
        for stream in self._owned:
            stream.close()

    def _fill(self, position: int) -> int:
        while self._size < position and not self._ended:
            try:
                data = self._receive(_PIPE_READ)
            except OSError as error:
                raise unreadable(self._name, error) from error
            if not data:
                self._ended = True
                break
            self._keep(data)
        return min(position, self._size)

    def _keep(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            self._kept.seek(self._size)
            while rest:
                written = self._kept.write(rest)
                self._size += written
                rest = rest[written:]
        except OSError as error:
            raise no_room(self._name, error) from error


def unreadable(name: str, error: OSError) -> InputError:
    """The InputError for what the system said about the input called `name`."""
    hints = {
        errno.ENOENT: "Check the name. It is taken literally; wildcards are for the shell.",
        errno.EACCES: "Ask for permission to read it, or for a copy.",
    }
    reason = error.strerror or str(error)
    return InputError(f"can't be read: {reason}", name, hints.get(error.errno or 0))


def no_room(name: str, error: OSError) -> InputError:
    """The InputError for an input that there is no room to keep."""
    return InputError(
        f"can't be kept in a temporary file: {error.strerror or error}",
        name,
        "Save it to a file and name that file, or let TMPDIR name a directory with room.",
    )


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
