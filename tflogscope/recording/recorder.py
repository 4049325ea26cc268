"""Run a command, keep all that it writes, in order, and pass on what is not log.

Standard output (oneDNN) and standard error (TensorFlow) go into one channel, since only their order
tells which primitive belongs to which op. The channel is a terminal where it has to be: the C
library keeps back up to 4 KB of what goes into a pipe, and old oneDNN never asks it to hurry.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from tflogscope.errors import OutputError, UsageError
from tflogscope.recording.pass_on import PassOn

_READ = 1 << 16
_FLUSH_SECONDS = 1.0  # at most this much is lost if the recorder is killed
_DRAIN_SECONDS = 1.0  # how long what the command left running may still write


@dataclass(slots=True)
class Recorded:
    """What a recording holds: the command's exit status (128 + signal), bytes, lines, seconds."""

    status: int
    bytes: int
    lines: int
    seconds: float


def record(
    command: Sequence[str], environment: Mapping[str, str], log: LogFile, *, terminal: bool
) -> Recorded:
    """Run a command to its end and write all that it writes to `log`.

    `terminal`: give it a terminal to write to, where the system has one, else a pipe. Interrupts
    and terminations are the command's to obey: they are passed on, and the log is finished.

    Raises:
        UsageError: the command can't be started.
        OutputError: the log can't be written. The command is ended then.
    """
    reader, writer = _channel(terminal)
    started = time.monotonic()
    try:
        process = subprocess.Popen(command, stdout=writer, stderr=writer, env=dict(environment))
    except OSError as error:
        os.close(reader)
        reason = f"can't be started: {error.strerror or error}"
        raise UsageError(reason, command[0], "Write the program after `--`.") from error
    finally:
        os.close(writer)
    recorded = Recorded(0, 0, 0, 0.0)
    pass_on = PassOn(_writer(sys.stdout.buffer), _writer(sys.stderr.buffer))
    try:
        with _signals_to(process):
            for data in _pieces(reader, process, pass_on, log):
                recorded.bytes += len(data)
                recorded.lines += data.count(b"\n")
    except OSError as error:
        process.kill()
        raise OutputError(f"can't write: {error.strerror or error}", "the recording") from error
    finally:
        os.close(reader)
        status = process.wait()
    recorded.status = 128 - status if status < 0 else status
    recorded.seconds = time.monotonic() - started
    return recorded


def _pieces(
    reader: int, process: subprocess.Popen[bytes], pass_on: PassOn, log: LogFile
) -> Iterator[bytes]:
    """Keep, pass on and yield what comes until the command and all it started are silent."""
    flushed = ended = time.monotonic()
    while True:
        ready, _, _ = select.select([reader], [], [], 0.1)
        now = time.monotonic()
        if ready:
            try:
                data = os.read(reader, _READ)
            except OSError:  # Linux: EIO when nobody has the other end of the terminal any more
                data = b""
            if not data:
                break
            log.write(data)
            pass_on.feed(data)
            yield data
        else:
            pass_on.idle()
        if now - flushed > _FLUSH_SECONDS:
            log.flush()
            flushed = now
        if ready or process.poll() is None:
            ended = now
        elif now - ended > _DRAIN_SECONDS:
            break
    pass_on.idle()


def _channel(terminal: bool) -> tuple[int, int]:
    """Return where to read and where to write; a terminal changes nothing of what goes through."""
    if terminal and sys.platform != "win32":
        import pty
        import termios
        import tty

        with contextlib.suppress(OSError, termios.error):
            reader, writer = pty.openpty()
            tty.setraw(writer)
            with contextlib.suppress(OSError, termios.error):
                size = termios.tcgetwinsize(sys.stdout)
                termios.tcsetwinsize(writer, size)
            return reader, writer
    return os.pipe()


@contextlib.contextmanager
def _signals_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Outlive the command: Ctrl-C in a terminal reaches it by itself, SIGTERM is handed on."""
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: process.terminate()),
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _writer(stream: BinaryIO) -> Callable[[bytes], object]:
    """Return a function that writes at once; a reader that went away does not end the recording."""

    def write(data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):
            stream.write(data)
            stream.flush()

    return write


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log that is written through `stream`, which compresses, to `raw`."""

    stream: BinaryIO
    raw: BinaryIO

    def write(self, data: bytes, /) -> object:
        """Take more of the log."""
        return self.stream.write(data)

    def flush(self) -> None:
        """Make what was written readable, even if the process is killed now."""
        self.stream.flush()
        self.raw.flush()


@contextlib.contextmanager
def log_file(path: Path, *, force: bool) -> Iterator[LogFile]:
    """A new log file, compressed as its suffix says: .zst, .gz, or not at all.

    It grows while the command runs: a recording that is killed can be read as far as it got.

    Raises:
        OutputError: it exists and `force` is not given, or it can't be written.
    """
    try:
        raw = open(path, "wb" if force else "xb")  # noqa: SIM115  closed below
    except FileExistsError as error:
        raise OutputError("exists already", str(path), "Use --force to replace it.") from error
    except OSError as error:
        reason = f"can't write: {error.strerror or error}"
        raise OutputError(reason, str(path)) from error
    with raw, _compressed(raw, path.suffix) as stream:
        yield LogFile(stream, raw)


def _compressed(raw: BinaryIO, suffix: str) -> contextlib.AbstractContextManager[BinaryIO]:
    if suffix == ".gz":
        import gzip

        stream = gzip.GzipFile("", "wb", compresslevel=3, fileobj=raw, mtime=0)
        return cast("contextlib.AbstractContextManager[BinaryIO]", stream)
    if suffix == ".zst":
        if sys.version_info >= (3, 14):
            from compression import zstd

            return cast("contextlib.AbstractContextManager[BinaryIO]", zstd.ZstdFile(raw, "wb"))
        import zstandard

        writer = zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False)
        return cast("contextlib.AbstractContextManager[BinaryIO]", writer)
    return contextlib.nullcontext(raw)
