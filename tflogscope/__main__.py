"""Where `tflogscope` and `python -m tflogscope` begin: from here on Ctrl-C ends it in words.

So nothing else is imported before.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

_INTERRUPTED = 130
_OBJECTS = 300_000  # made before Python looks for circles among them; a small log makes fewer


def main() -> int:
    """Run the command line of this process; return the exit code."""
    gc.set_threshold(_OBJECTS)
    try:
        from tflogscope.cli.main import main as run

        code = run()
    except KeyboardInterrupt:
        with suppress(OSError):
            print("tflogscope: interrupted", file=sys.stderr)  # noqa: T201
        code = _INTERRUPTED
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # there is nothing left to interrupt
    if "tflogscope.cli.simulate" not in sys.modules:  # the program may have to do something at exit
        _end(code)
    return code


def _end(code: int) -> NoReturn:
    """End the process as it is: to take all objects apart before takes as long as a small table."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
