"""End a program at one of its system calls, by ptrace: Linux alone has what this needs."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Sequence

_TRACE_ME, _CONTINUE, _SYSCALL, _SET_OPTIONS = 0, 7, 24, 0x4200
_EXIT_KILL = 1 << 20


def ended_at(command: Sequence[str], stop: int) -> tuple[bool, int]:
    """Run a program; kill it at this system call of its first thread after it stopped itself.

    Each call counts twice, where it begins and where it ends. Returns whether it was killed, and
    how many there were. The program stops itself with SIGSTOP where counting shall begin.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def ptrace(request: int, pid: int, data: int = 0) -> None:
        if libc.ptrace(request, pid, None, ctypes.c_void_p(data)) < 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    child = os.fork()
    if child == 0:
        ptrace(_TRACE_ME, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.execv(command[0], list(command))
    _, status = os.waitpid(child, 0)  # at exec
    ptrace(_SET_OPTIONS, child, _EXIT_KILL)
    counted, request, given = 0, _CONTINUE, 0
    while True:
        ptrace(request, child, given)
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            return os.WIFSIGNALED(status), counted
        reason, given = os.WSTOPSIG(status), 0
        if request == _CONTINUE and reason == signal.SIGSTOP:
            request = _SYSCALL
        elif request == _SYSCALL and reason == signal.SIGTRAP:
            counted += 1
            if counted == stop:
                os.kill(child, signal.SIGKILL)
                while os.WIFSTOPPED(os.waitpid(child, 0)[1]):
                    pass
                return True, counted
        else:
            given = reason
