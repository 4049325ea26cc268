"""The text of lines of the program, where their file is still the one that ran.

The log has places, no text. A log is text from anywhere, so it can't have just any file read: only
one of Python below the current folder counts, and only if it is older than the recording.
Of the program's own file `record` wrote the checksum.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
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
    lines = _lines(file, recorded_as)
    if not line.isdecimal() or len(line) > 9 or not 0 < int(line) <= len(lines):
        return None
    text = lines[int(line) - 1].strip()
    return f"{text[:longest]}…" if text[longest or len(text) :] else text or None


def line_with(
    names: Sequence[str], files: Sequence[str], recorded_as: Mapping[str, Any] | None
) -> str | None:
    """The only line of these files with the first name that has just one, as `train.py:31`.

    Comments don't count.
    """
    lines = [
        (f"{file}:{number}", line)
        for file in files
        for number, line in enumerate(_lines(file, recorded_as), 1)
    ]
    for name in names:
        named = re.compile(rf"^[^#]*(?<!\w){re.escape(name)}(?!\w)")
        places = [place for place, line in lines if named.search(line)]
        if len(places) == 1:
            return places[0]
    return None


def why_unread(file: str, recorded_as: Mapping[str, Any] | None) -> str | None:
    """Why the lines of a file are not taken for those that ran; None: they are."""
    path, started = Path(file), (recorded_as or {}).get("started")
    if path.suffix != ".py" or path.is_absolute() or ".." in path.parts:
        return "the file is not a Python file of the project"
    try:
        before = datetime.fromisoformat(str(started)).timestamp()
        about = path.stat()
        is_inside = path.resolve().is_relative_to(Path.cwd())
    except OSError:
        is_inside = False
    except ValueError:
        return "the log doesn't say when the program started"
    if not is_inside:
        return "the file is outside the current directory"
    if not about.st_mtime < before:
        return "the file is newer than the recording"
    if about.st_size > _LARGEST:
        return "the file is too large"
    return None if _is_as_recorded(path, recorded_as) else "the file is not the one that ran"


def _is_as_recorded(path: Path, recorded_as: Mapping[str, Any] | None) -> bool:
    """Whether a file has what `record` says of it; where it says nothing, the date decides."""
    sources = (recorded_as or {}).get("sources")
    if not isinstance(sources, Mapping) or str(path) not in sources:
        return True
    try:
        return bool(zlib.crc32(path.read_bytes()) == sources[str(path)])
    except OSError:
        return False


def _lines(file: str, recorded_as: Mapping[str, Any] | None) -> list[str]:
    """The lines of a file that is as it was when the program started; else none."""
    if why_unread(file, recorded_as):
        return []
    try:
        return _read(Path(file).resolve())
    except OSError:
        return []


@lru_cache(8)
def _read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").split("\n")
