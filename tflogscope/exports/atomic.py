"""Output files are written whole or not at all.

The bytes go to a hidden file in the same directory, reach the disk, and only then get the name that
was asked for. Ctrl-C, a termination, a full disk or an error in the middle leave the old state.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tflogscope.errors import OutputError, writable

# O_EXCL never follows a symbolic link; the others are not there on every system.
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_FLAGS |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def refuse_bad_target(path: str | os.PathLike[str], *, force: bool) -> None:
    """Say early, before minutes of work, that a file can't or must not be written.

    An existing regular file, or a symbolic link to one, is replaced with `force` only; of a link
    the link is replaced, never what it points to. Directories and devices are never replaced.

    Raises:
        OutputError: the target exists, is not a file, or its directory is missing.
    """
    target = Path(path)
    with writable(target):
        if not target.parent.is_dir():
            raise OutputError("no such directory", str(target.parent), "Create it first.")
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if not os.path.lexists(target):
            return
        if target.is_dir():
            raise OutputError("is a directory", str(target), "Use a file in it.")
        if target.exists() and not target.is_file():
            raise OutputError("not a regular file", str(target), "Use -o - for standard output.")
        if not force:
            raise OutputError("the file already exists", str(target), "Replace it with --force.")


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name when the block ends well.

    Args:
        path: the file to make.
        force: replace an existing regular file, keeping its permissions.

    Raises:
        OutputError: the file exists and `force` is off, or it can't be written.
    """
    target = Path(path)
    refuse_bad_target(target, force=force)
    hidden = target.parent / f".tflogscope-{os.urandom(8).hex()}.tmp"
    with writable(target, "Nothing was written."), unwinding(), _removed_on_error(hidden):
        with os.fdopen(os.open(hidden, _FLAGS, 0o666), "wb") as stream:
            yield stream
            stream.flush()
            if force:
                _copy_mode(target, stream.fileno())
            os.fsync(stream.fileno())
        _give_name(hidden, target, force=force)


@contextmanager
def _removed_on_error(hidden: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:  # Ctrl-C and signals, too
        with suppress(OSError):
            hidden.unlink()
        raise


class _Ended(BaseException):
    """A signal has ended the process, as soon as the block has cleaned up."""


@contextmanager
def unwinding() -> Iterator[None]:
    """Let TERM, HUP and QUIT end the block as an exception does, and then the process."""
    numbers = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP", "SIGQUIT")]
    received: list[int] = []

    def end(number: int, _frame: object) -> None:
        received.append(number)
        if len(received) == 1:  # not in the middle of the unwinding
            raise _Ended

    ending = [number for number in numbers if number and signal.getsignal(number) == signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        ending = []  # only the main thread may say what a signal does
    for number in ending:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)
        if received:
            os.kill(os.getpid(), received[0])


def _copy_mode(old: Path, descriptor: int) -> None:
    if old.is_file() and hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(old.stat().st_mode))


def _give_name(hidden: Path, target: Path, *, force: bool) -> None:
    """Rename; without `force` in a way that fails if the target has appeared in the meantime."""
    if force:
        hidden.replace(target)
    else:
        try:
            os.link(hidden, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            refuse_bad_target(target, force=False)
            hidden.rename(target)
        else:
            hidden.unlink()
    _sync_directory(target.parent)


def _sync_directory(directory: Path) -> None:
    """Make the new name survive a power cut, where directories can be synced."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
