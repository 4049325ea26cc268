"""The text of a line of the program, where its file is still the one that ran.

The log has places, no text. A log is text from anywhere, so it can't have just any file read: only
one of Python below the current folder counts, and only if it is older than the recording.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

_LONGEST = 160  # characters
_LARGEST = 4 << 20  # bytes


def source_text(
    place: str | None, recorded_as: Mapping[str, Any] | None, longest: int | None = _LONGEST
) -> str | None:
    """The line at `train.py:31`, without its indent and cut if it is long; None: not known.

    `recorded_as` is what `record` wrote above the log: it says when the program started.
    """
    file, _, line = (place or "").rpartition(":")
    path, started = Path(file), (recorded_as or {}).get("started")
    if (
        path.suffix != ".py"
        or path.is_absolute()
        or ".." in path.parts
        or not line.isdecimal()
        or not int(line)
    ):
        return None
    try:
        before = datetime.fromisoformat(str(started)).timestamp()
        about = path.stat()
        if not about.st_mtime < before or about.st_size > _LARGEST:
            return None
        if not path.resolve().is_relative_to(Path.cwd()):
            return None
        said = _lines(path.resolve())[int(line) - 1].strip()
    except (OSError, ValueError, IndexError):
        return None
    return f"{said[:longest]}…" if said[longest or len(said) :] else said or None


@lru_cache(8)
def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").split("\n")
