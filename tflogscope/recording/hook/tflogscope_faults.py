"""Counts page faults in calls of graph functions, and the time that they take.

TensorFlow frees the memory of a tensor once it was used. glibc gives large pieces back to the
system (mallopt(3), M_MMAP_THRESHOLD and M_TRIM_THRESHOLD), so the next op has its pages mapped
anew. The allocator that comes with oneDNN keeps them (core/common_runtime/mkl_cpu_allocator.h).

It runs inside the program, see `tflogscope_lines.py`.
"""

from __future__ import annotations

import sys
from threading import get_ident

from tflogscope_finder import FUNCTIONS  # type: ignore[import-not-found]  # it is beside this file

_KNOWN = 10_000  # so many functions are told apart
_LEAST = 1_000  # faults of a call: 4 MB of pages


class Faults:
    """Those of later calls, in all threads, by the first thread that calls a function."""

    def __init__(self) -> None:
        self.thread = 0
        self.called: set[str] = set()
        self.before: tuple[float, ...] = ()
        self.calls = 0
        self.faults = self.system = self.user = 0.0

    def begin(self, name: str) -> None:
        """An op, or function, of that name is about to run."""
        if sys.platform == "win32" or not name.startswith(FUNCTIONS):
            return
        self.thread = self.thread or get_ident()
        if self.thread == get_ident():
            self.before = _now() if name in self.called else ()
            if len(self.called) < _KNOWN:
                self.called.add(name)

    def end(self) -> None:
        """It has run."""
        if self.before and self.thread == get_ident():
            (faults, system, user), now = self.before, _now()
            self.faults += now[0] - faults
            self.system += now[1] - system
            self.user += now[2] - user
            self.calls, self.before = self.calls + 1, ()

    def text(self) -> str | None:
        """How many calls; of these, in all threads: faults, µs in the kernel and in the program.

        None: too few faults to matter.
        """
        if self.faults < _LEAST * max(self.calls, 1):
            return None
        system, user = (round(seconds * 1e6) for seconds in (self.system, self.user))
        return f"{self.calls} {round(self.faults)} {system} {user}"


def _now() -> tuple[float, ...]:
    """Minor page faults so far, and seconds in the kernel and in the program, of all threads."""
    from resource import RUSAGE_SELF, getrusage

    used = getrusage(RUSAGE_SELF)
    return used.ru_minflt, used.ru_stime, used.ru_utime
