"""Run a command, keep all that it writes, in order, and pass on what is not log.

Standard output (oneDNN) and standard error (TensorFlow) go into one channel, since only their order
shows which primitive belongs to which op. The channel is a terminal where it has to be: the C
library keeps back up to 4 KB of what goes into a pipe, and old oneDNN never asks it to hurry. What
Python writes to standard error comes by a second one (`hook/tflogscope_errors.py`).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TextIO

from tflogscope.errors import UsageError
from tflogscope.recording.header import footer_line
from tflogscope.recording.log_file import LogFile
from tflogscope.recording.pass_on import PassOn
from tflogscope.recording.usage import Usage
from tflogscope.sources.readers import PIECE, widen

_PIECES = 64  # that are read at once: a terminal has no more than 4 kB in each
_REST_SECONDS = 0.004  # a program that wakes no reader at each record writes it in half the time
_WAIT_SECONDS = 0.1  # after this long a line without an end is a prompt
_SURE = 10  # waits, after which the beginning of a record is one, too
_FLUSH_SECONDS = 1.0  # at most this much is lost if the recorder is killed
_DRAIN_SECONDS = 1.0  # how long after the command's end what it left running may still write


@dataclass(slots=True)
class Recorded:
    """What came of a recording."""

    status: int = 0
    """The command's exit status; 128 and the number of the signal that ended it."""
    bytes: int = 0
    lines: int = 0
    has_records: bool = False
    """Whether TensorFlow wrote any of the records that are asked for."""
    goes_on: bool = False
    """Whether the command, or what it started, still writes: nobody reads that any more."""
    lost: OSError | None = None
    """Why the log could not be written to its end."""
    unseen: OSError | None = None
    """Why the command's own output could not be passed on to its end."""


class _Enough(BaseException):
    """A second signal: the recording ends, whatever it was waiting for."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def record(
    command: Sequence[str],
    environment: Mapping[str, str],
    log: LogFile,
    header: bytes,
    *,
    terminal: bool,
    least: int = 0,
    begins: Sequence[bytes] = (),
) -> Recorded:
    """Run a command to its end and write `header`, all that it writes and `footer_line` to `log`.

    A log that can't be written any more ends the recording, not the command. INT, QUIT, TERM
    and HUP are passed on, for the command to obey; the second one ends the recording.

    Args:
        command: the program and its arguments.
        environment: the command's.
        log: where it goes; it is left alone if the command can't be started.
        header: what comes first in it.
        terminal: give the command a terminal to write to, where the system has one, else a pipe.
        least: the least severity of TensorFlow's records that the user is shown.
        begins: how lines of plug-ins begin, which the user is not shown.

    Raises UsageError if the command can't be started.
    """
    channel = _channel(terminal)
    if sys.platform != "win32":
        os.set_blocking(channel.reader, False)
    shown, kept = _Output(sys.stderr), _LogWriter(log)
    of_errors = PassOn(shown.write, shown.write, least=least, begins=begins)
    errors = _ErrorChannel(channel.writer, of_errors, kept)
    usage = Usage()
    own_group = sys.platform != "win32" and not _is_at_the_terminal()
    try:
        process = subprocess.Popen(
            command,
            stdout=channel.writer,
            stderr=channel.writer,
            env={**environment, **errors.environment},
            process_group=0 if own_group else None,
            close_fds=sys.platform == "win32",  # a shell gives it more: `3<file`, `<(command)`
        )
    except OSError as error:
        os.close(channel.reader)
        errors.close()
        log.close()
        reason = f"can't be started: {error.strerror or error}"
        raise UsageError(reason, command[0], "Write the program after `--`.") from error
    finally:
        os.close(channel.writer)
    recorded = Recorded()
    output = _Output(sys.stdout)
    pass_on = PassOn(output.write, shown.write, least=least, begins=begins)
    try:
        with _signals_to(process, own_group=own_group):
            kept.write(header)
            recorded.goes_on = _read(channel, errors, process, pass_on, kept)
            status = process.wait()
    except _Enough as ended:
        recorded.goes_on = process.poll() is None
        status = -ended.number if process.returncode is None else process.returncode
    finally:
        os.close(channel.reader)
        errors.hand_on()
        of_errors.idle()
        errors.close()
        if process.returncode is not None:
            kept.end(footer_line(process.returncode, usage.facts()))
        kept.close()
    recorded.status = 128 - status if status < 0 else status
    recorded.has_records = pass_on.has_records or of_errors.has_records
    recorded.bytes, recorded.lines = kept.bytes, kept.lines
    recorded.lost, recorded.unseen = kept.error, output.error
    return recorded


def _read(
    channel: _Channel,
    errors: _ErrorChannel,
    process: subprocess.Popen[bytes],
    pass_on: PassOn,
    kept: _LogWriter,
) -> bool:
    """Keep and pass on what comes until the command has ended; whether more would come."""
    last = None  # when to stop
    quiet = 0  # waits in a row in which nothing came
    while True:
        ready = _that_are_ready(channel.reader, *errors.readers)
        quiet = 0 if ready else quiet + 1
        if channel.reader in ready:
            data = _what_came(channel.reader)
            if not data:
                break
            kept.write(data)
            pass_on.feed(data)
        elif not ready:
            for passed in (pass_on, errors.pass_on):
                passed.idle(surely=quiet >= _SURE)
        errors.hand_on()
        kept.flush_now_and_then()
        now = time.monotonic()
        if channel.rest_s:
            time.sleep(channel.rest_s)
        if last is None and process.poll() is not None:
            last = now + _DRAIN_SECONDS
        if last is not None and now > last:
            break
    pass_on.idle()
    return channel.reader in ready and bool(data)


def _what_came(reader: int) -> bytes:
    """What there is to read, at once; nothing: that was the end."""
    pieces: list[bytes] = []
    while len(pieces) < _PIECES:
        try:
            piece = os.read(reader, PIECE)
        except BlockingIOError:
            if pieces:
                break
            continue
        except OSError:  # Linux: EIO when nobody has the other end of the terminal any more
            break
        pieces.append(piece)
        if not piece or sys.platform == "win32":  # there, a read waits for more
            break
    return b"".join(pieces)


def _that_are_ready(*readers: int) -> list[int]:
    """Wait a tenth of a second at most for something to read, or for the end of it."""
    if sys.platform == "win32":  # `select` takes only sockets there
        import _winapi
        import msvcrt

        until = time.monotonic() + _WAIT_SECONDS
        while time.monotonic() < until:
            try:
                if _winapi.PeekNamedPipe(msvcrt.get_osfhandle(readers[0]), 0)[0]:
                    return [*readers]
            except BrokenPipeError:  # nobody has the other end any more
                return [*readers]
            time.sleep(0.01)
        return []
    return select.select(readers, [], [], _WAIT_SECONDS)[0]


class _ErrorChannel:
    """A FIFO for what Python writes to standard error; `environment` tells the command of it."""

    def __init__(self, log: int, pass_on: PassOn, kept: _LogWriter) -> None:
        """`log` is the descriptor of the other channel."""
        self.environment: dict[str, str] = {}
        self.readers: list[int] = []
        self.pass_on, self._kept = pass_on, kept
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # no room for one: all comes by the other channel
                self._make(log)

    def _make(self, log: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tflogscope-")
        path = f"{self._folder.name}/errors"
        os.mkfifo(path, 0o600)
        # Open for writing, too, it has no end between two programs that write to it.
        self.readers.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        status = os.fstat(log)
        self.environment["TFLOGSCOPE_ERRORS"] = f"{status.st_dev}:{status.st_ino} {path}"

    def hand_on(self) -> None:
        """Hand on what there is to read."""
        for reader in self.readers:
            with contextlib.suppress(BlockingIOError):
                data = os.read(reader, PIECE)
                self._kept.write_beside(data)
                self.pass_on.feed(data)

    def close(self) -> None:
        for reader in self.readers:
            os.close(reader)
            self._folder.cleanup()


class _Channel(NamedTuple):
    """What the command writes to; `rest_s` is the time in seconds to let pass between reads."""

    reader: int
    writer: int
    rest_s: float


def _channel(terminal: bool) -> _Channel:
    """Make a pipe, or a terminal that changes nothing of what goes through."""
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
            return _Channel(reader, writer, 0)
    reader, writer = os.pipe()
    return _Channel(reader, writer, _REST_SECONDS if widen(writer) else 0)


def _is_at_the_terminal() -> bool:
    """Whether keys of a terminal reach this process, and so the command if it is of its group.

    It has to be, for only then it may read from that terminal.
    """
    try:
        with open("/dev/tty", "rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


@contextlib.contextmanager
def _signals_to(process: subprocess.Popen[bytes], *, own_group: bool) -> Iterator[None]:
    """Hand on what is sent to this process only; raise _Enough at the second signal."""
    seen = 0

    def hand_on(number: int, _frame: object) -> None:
        nonlocal seen
        seen += 1
        with contextlib.suppress(OSError):
            if own_group:
                os.killpg(process.pid, number)
            elif number not in typed:  # those the terminal has sent to both
                process.send_signal(number)
        if seen > 1:
            raise _Enough(number)

    typed = [getattr(signal, name, None) for name in ("SIGINT", "SIGQUIT")]
    numbers = [*typed, *(getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))]
    before = {
        number: signal.signal(number, hand_on)
        for number in numbers
        if number is not None and signal.getsignal(number) != signal.SIG_IGN  # nohup
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _LogWriter:
    """A log that is written for as long as that is possible."""

    def __init__(self, log: LogFile) -> None:
        self.error: OSError | None = None
        self.bytes = self.lines = 0
        self._log = log
        self._flushed = time.monotonic()
        self._last = b"\n"
        self._beside = b""  # what is to be written between two lines

    def write(self, data: bytes) -> None:
        self._try(self._log.write, data)
        self.bytes += len(data)
        self.lines += data.count(b"\n")
        self._last = data[-1:]
        if self._beside:
            self.write_beside(b"")

    def write_beside(self, data: bytes) -> None:
        """Write whole lines of another channel, where this one is between two lines."""
        lines, self._beside = self._beside + data, b""
        end = lines.rfind(b"\n") + 1 if self._last == b"\n" else 0
        if end:
            self.write(lines[:end])
        self._beside = lines[end:]

    def end(self, footer: bytes) -> None:
        """Write a last line, on a line of its own."""
        for text in (self._beside, footer):
            self._beside = b""
            if text:
                self.write(text if self._last == b"\n" else b"\n" + text)

    def flush_now_and_then(self) -> None:
        if time.monotonic() - self._flushed > _FLUSH_SECONDS:
            self._try(self._log.flush)
            self._flushed = time.monotonic()

    def close(self) -> None:
        try:
            self._log.close()
        except OSError as error:
            self.error = self.error or error

    def _try(self, call: Callable[..., object], *arguments: bytes) -> None:
        if self.error is None:
            try:
                call(*arguments)
            except OSError as error:
                self.error = error


class _Output:
    """Writes at once; if nobody takes it any more, the recording goes on all the same."""

    def __init__(self, stream: TextIO | None) -> None:
        self.error: OSError | None = None
        self._stream = stream

    def write(self, data: bytes) -> None:
        """Write all of it, past the stream's buffer: what fails there fails again at the end."""
        rest = memoryview(data)
        try:
            while self._stream is not None and self.error is None and rest:
                rest = rest[os.write(self._stream.fileno(), rest) :]
        except OSError as error:
            self.error = error
