"""Gives what Python writes to standard error a channel of its own.

Descriptor 2 is the log's: TensorFlow writes there. `TFLOGSCOPE_ERRORS` names the FIFO that the
recorder reads beside it, and device and inode of the log. The FIFO is open only while it is
written to: a program finds no descriptor that it doesn't know. It has to work in Python 3.8.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any


class _Errors(io.FileIO):
    """Writes to the FIFO for as long as descriptor 2 is the log: a program may redirect that."""

    def __init__(self, channel: str, log: str) -> None:
        super().__init__(2, "w", closefd=False)
        self.name = "<stderr>"
        self._channel, self._log = channel, log

    def write(self, data: Any) -> int:
        """Write some of the data; to descriptor 2 if nobody reads the FIFO any more."""
        channel = None
        try:
            if _file_of(2) == self._log:
                channel = os.open(self._channel, os.O_WRONLY | os.O_NONBLOCK)
                os.set_blocking(channel, True)
                return os.write(channel, data)
        except OSError:
            pass
        finally:
            if channel is not None:
                os.close(channel)
        return os.write(2, data)


def _file_of(descriptor: int) -> str:
    status = os.fstat(descriptor)
    return f"{status.st_dev}:{status.st_ino}"


def part_errors() -> None:
    """Let `sys.stderr` write to the FIFO, if this process writes to the log. Raises OSError."""
    log, _, channel = os.environ["TFLOGSCOPE_ERRORS"].partition(" ")
    if sys.stderr is None or _file_of(2) != log:
        return
    text: Any = {
        "encoding": sys.stderr.encoding,
        "errors": sys.stderr.errors,
        "line_buffering": True,
    }
    stream: Any = io.TextIOWrapper(io.BufferedWriter(_Errors(channel, log)), **text)
    vars(sys).update(stderr=stream, __stderr__=stream)
