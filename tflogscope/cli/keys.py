"""Keys as they are pressed, on a terminal, which is as it was in the end, whatever ends it."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from tflogscope.errors import UsageError

_NAMES = {
    "\x1b[A": "up", "\x1b[B": "down", "\x1bOA": "up", "\x1bOB": "down",
    "\x1b[5~": "page-up", "\x1b[6~": "page-down",
}  # fmt: skip
_WINDOWS = {"H": "up", "P": "down", "I": "page-up", "Q": "page-down"}
_POLL_SECONDS = 0.05
INTERRUPT = "\x03"


Keys = Callable[[float], list[str]]
"""The keys that were pressed; waits for one, but not longer than so many seconds."""


@contextmanager
def keyboard() -> Iterator[Keys]:
    """The terminal's keys for as long as the block runs, whatever standard input is.

    Ctrl-C is a key, `INTERRUPT`, so that no picture is left half drawn (on Windows it is a signal).

    Raises UsageError if there is no terminal.
    """
    if sys.platform == "win32":
        yield _of_console
        return
    import termios
    import tty

    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError as error:
        raise UsageError(f"no keyboard: {error.strerror}", "/dev/tty") from error
    try:
        before = termios.tcgetattr(terminal)
        tty.setcbreak(terminal)
        mode = termios.tcgetattr(terminal)
        mode[3] &= ~termios.ISIG
        termios.tcsetattr(terminal, termios.TCSANOW, mode)
        try:
            yield partial(_of_terminal, terminal)
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    finally:
        os.close(terminal)


def _of_terminal(terminal: int, seconds: float) -> list[str]:
    if not select.select([terminal], [], [], seconds)[0]:
        return []
    data = b""
    with suppress(OSError):
        data = os.read(terminal, 1024)
    if not data:  # the terminal is gone
        time.sleep(seconds)
    return split(data.decode("utf-8", "ignore"))


def _of_console(seconds: float) -> list[str]:
    import msvcrt

    until = time.monotonic() + seconds
    while time.monotonic() < until and not msvcrt.kbhit():  # type: ignore[attr-defined]
        time.sleep(_POLL_SECONDS)
    keys = []
    while msvcrt.kbhit():  # type: ignore[attr-defined]
        key = msvcrt.getwch()  # type: ignore[attr-defined]
        if key in "\0\xe0":
            key = _WINDOWS.get(msvcrt.getwch(), "")  # type: ignore[attr-defined]
        keys.append(key)
    return keys


def split(typed: str) -> list[str]:
    """The keys of what a terminal sends: a key may be several characters."""
    keys = []
    while typed:
        length = next((n for n in (4, 3) if typed[:n] in _NAMES), 1)
        keys.append(_NAMES.get(typed[:length], typed[:length]))
        typed = typed[length:]
    return keys
