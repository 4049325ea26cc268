"""Where a recording goes when a launcher starts several at once: a file for each."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from tflogscope.errors import UsageError
from tflogscope.model.origin import RANKS, place_of

_FIELD = re.compile(r"\{([a-z]+)\}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def log_path(output: Path, environment: Mapping[str, str]) -> Path:
    """The path with `{rank}`, `{host}` and `{pid}` filled in.

    `{pid}` is the process of the recorder, which waits for that of the program. Other braces stay
    as they are.

    Raises UsageError if the rank is asked for, and no variable says it.
    """
    rank = place_of(environment)[1]
    if "{rank}" in str(output) and rank is None:
        hint = f"A launcher sets one of TF_CONFIG, {', '.join(RANKS)}; {{pid}} needs none."
        raise UsageError("no variable says which rank this is", str(output), hint)
    host = _UNSAFE.sub("_", platform.node()) or "localhost"
    known = {"rank": str(rank), "host": host, "pid": str(os.getpid())}
    return Path(_FIELD.sub(lambda field: known.get(field[1], field[0]), str(output)))
