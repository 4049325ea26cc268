"""Where an annotation points: at the line of the program, or else at that of the log."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tflogscope.digits import whole
from tflogscope.repository import repository

_NO_FILES = ("<", "In[")  # `<string>`, and cells of notebooks


class Place(NamedTuple):
    """A line of a file; None: not known."""

    file: str | None
    line: int | None


def places(violation: dict[str, Any]) -> tuple[Place, Place | None]:
    """Where a violation is, and where the log shows it if that is another place."""
    lines = violation["lines"]
    log = Place(violation["source"], lines[0] if lines else None)
    file, _, line = (violation["python"] or "").rpartition(":")
    number = whole(line)
    if number is None or file.startswith(_NO_FILES):
        return log, None
    return Place(_in_repository(file), number), log


def pair_with_advice(check: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The violations of a check, and what is said of each: an advice with the first that has it."""
    given = set()
    for violation in check["violations"]:
        advice = "" if violation["advice"] in given else violation["advice"]
        given.add(advice)
        yield violation, f"{violation['text']} {advice}".rstrip()


def add_log_line(text: str, log: Place | None) -> str:
    """A text, with the line of the log behind it where the text's place is another one."""
    if log is None or log.file is None:
        return text
    return f"{text} (log: {log.file}{'' if log.line is None else f', line {log.line}'})"


def _in_repository(file: str) -> str:
    """A file's name from the root of this folder's repository.

    `record` names files so, but where it did not run in the repository.
    """
    here = Path.cwd()
    root = repository(here)
    if root is None:
        return file
    path = next((name for name in (root / file, here / file) if os.path.isfile(name)), root / file)  # noqa: PTH113  any name
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else file
