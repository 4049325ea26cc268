"""`python -m tflogscope` is the same as `tflogscope`."""

from __future__ import annotations

import sys

from tflogscope.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
