"""A process of its own for work that can't be stopped, or may end the process that it is in."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from tflogscope.errors import TflogscopeError

_PATIENCE = 1.0  # seconds for the other process to end as it was asked to
_DIE_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG


def go_apart(failed: Callable[[str], TflogscopeError], seconds: float) -> None:
    """Return in a new process; the old one waits, says what ended the new one, and ends as it did.

    A library that gets no memory aborts, and nothing in its process can say so. Without
    processes that can be forked (Windows, or threads that are running already) nothing happens.

    Args:
        failed: makes an error of what is missing.
        seconds: how long the new one may take; 0: for ever.

    Raises:
        TflogscopeError: in the old process, if the new one has taken so long, or was ended.
    """
    if not hasattr(os, "fork") or "polars" in sys.modules:
        return
    if child := os.fork():
        _wait(child, failed, seconds)
    os.setpgid(0, 0)  # Ctrl-C goes to the old process, which passes it on
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)


def _wait(child: int, failed: Callable[[str], TflogscopeError], seconds: float) -> NoReturn:
    received: list[int] = []

    def pass_on(number: int, _frame: object) -> None:
        received.append(number)
        os.kill(child, number)
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.setitimer(signal.ITIMER_REAL, 0)
    if code >= 0:
        os._exit(code)  # it has said all there is to say
    if received:
        if received[0] == signal.SIGINT:
            raise KeyboardInterrupt
        signal.signal(received[0], signal.SIG_DFL)
        os.kill(os.getpid(), received[0])
    if 0 < seconds <= time.monotonic() - began:
        raise failed(f"no result within {seconds:g} s (--timeout)")
    overflowed = -code in (signal.SIGSEGV, signal.SIGBUS)
    raise failed("stack overflow" if overflowed else "out of memory")
