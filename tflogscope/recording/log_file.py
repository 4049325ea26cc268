"""The file that a recording goes to: packed as its name says, readable as far as it got."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from tflogscope.errors import OutputError, writable
from tflogscope.sources.decompress import zstd_module


class LogFile:
    """A log, packed as the suffix says: .zst, .gz, or not at all.

    Until the first write the file is what it was: one that exists already is emptied only then,
    one that did not exist goes away again if nothing is written.
    """

    def __init__(
        self,
        path: Path,
        *,
        force: bool,
        hint: str | None = None,
    ) -> None:
        """Raises OutputError if it exists and `force` is off, another process writes it, or it
        can't be written.

        `hint` says what to do where another process may have made the file.
        """
        self._path = path
        self._is_new = not os.path.lexists(path)
        with writable(path):
            try:
                self._raw = open(path, "ab" if force else "xb")  # noqa: SIM115  closed by `close`
            except FileExistsError as error:
                hint = hint or "Use --force to replace it."
                raise OutputError("already exists", str(path), hint) from error
        if not _is_ours_alone(self._raw):
            self._raw.close()
            raise OutputError("another process is writing to it", str(path), hint)
        self._stream: BinaryIO | None = None

    def begin(self) -> BinaryIO:
        """Empty the file, and return what packs what is written to it."""
        if self._stream is None:
            with contextlib.suppress(OSError):  # a device has no length
                self._raw.truncate(0)
            self._stream = packing(self._raw, self._path.suffix)
        return self._stream

    def write(self, data: bytes, /) -> object:
        """Take more of the log. Raises OSError."""
        return self.begin().write(data)

    def flush(self) -> None:
        """Make what was written readable, even if the process is killed now. Raises OSError."""
        self.begin().flush()
        self._raw.flush()

    def close(self) -> None:
        """Finish the file. Raises OSError; it is closed all the same."""
        with self._raw:
            if self._stream is not None:
                self._stream.close()
        if self._stream is None and self._is_new:
            self._path.unlink()  # Windows removes no file that is open


def _is_ours_alone(file: BinaryIO) -> bool:
    """Whether no other recording writes to a file; it is locked for as long as it is open."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system that has no locks
        pass
    return True


@contextlib.contextmanager
def log_file(path: Path, *, force: bool) -> Iterator[LogFile]:
    """A new log file, empty from the beginning on.

    Raises OutputError if it exists and `force` is not given, or it can't be written.
    """
    with contextlib.closing(LogFile(path, force=force)) as log:
        log.begin()
        yield log


def packing(raw: BinaryIO, suffix: str) -> BinaryIO:
    """What packs, and leaves `raw` open when it is closed."""
    if suffix == ".gz":
        import gzip

        return cast("BinaryIO", gzip.GzipFile("", "wb", compresslevel=3, fileobj=raw, mtime=0))
    if suffix == ".zst":
        return cast("BinaryIO", zstd_module().ZstdFile(raw, "wb"))
    return raw
