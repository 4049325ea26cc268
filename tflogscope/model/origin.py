"""Where a run comes from: its inputs by checksum, and what `tflogscope record` wrote above the
log.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from tflogscope.sources import Source

# As `recording/header.py` writes it; a test holds them together.
RECORD_MARK = b"# tflogscope record "
_LONGEST_HEADER = 1 << 20  # bytes


@dataclass(frozen=True)
class Input:
    """One input: its name as the user gave it, its bytes as they came, and their SHA-256."""

    name: str
    size: int | None
    sha256: str


def read_inputs(sources: Sequence[Source]) -> list[Input]:
    """Read the inputs once more, for their checksums.

    Raises InputError if one can't be read any more.
    """
    return [Input(source.name, source.size, source.checksum()) for source in sources]


def read_header(sources: Sequence[Source]) -> dict[str, Any] | None:
    """The fields of the line that `tflogscope record` writes first; None: there is no such line.

    Raises InputError if the first source can't be read any more.
    """
    if not sources:
        return None
    with closing(sources[0].blocks()) as blocks:  # type: ignore[type-var]  # a generator
        first = next(iter(blocks), None)
    if first is None or not first.text.startswith(RECORD_MARK):
        return None
    line = first.text[len(RECORD_MARK) : _LONGEST_HEADER].split(b"\n", 1)[0]
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
