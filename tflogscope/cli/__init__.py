"""The command line: one small file per command, a thin skin over the library.

polars, numpy and rich are imported inside the commands, so that `--help` does not wait for them.
"""

from __future__ import annotations
