"""Where `tflogscope` and `python -m tflogscope` begin: from here on Ctrl-C ends it in words.

So nothing else is imported before.
"""

from __future__ import annotations

import gc
import signal
import sys

_INTERRUPTED = 130


def main() -> int:
    """Run the command line of this process; return the exit code."""
    try:
        from tflogscope.cli.main import main as run

        code = run()
    except KeyboardInterrupt:
        print("tflogscope: interrupted", file=sys.stderr)  # noqa: T201
        code = _INTERRUPTED
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # there is nothing left to interrupt
    gc.freeze()  # nor is there a need to look through all objects before they go with the process
    return code


if __name__ == "__main__":
    sys.exit(main())
