"""From what the user named to the list of sources."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tflogscope.errors import InputError, UsageError
from tflogscope.folders import files_below
from tflogscope.sources.readers import readable, unreadable
from tflogscope.sources.source import STANDARD_INPUT, Source

_DIGITS = re.compile(r"([0-9]+)")


def find_sources(
    inputs: Sequence[str | os.PathLike[str] | Source],
    refused: dict[str, InputError] | None = None,
) -> list[Source]:
    """The sources that `inputs` name, in this order: files, directories, or "-" for standard input.
    A source is taken as it is. If `refused` is given, it gets the files that can't be read.

    A directory gives all regular files in it and below it in natural order (`run.log.2` before
    `run.log.10`), but no hidden ones. Names are never patterns. The same file named twice, or by
    two names, is taken once.

    Raises:
        UsageError: Nothing is named.
        InputError: An input is missing, may not be read, or is a directory without files.
    """
    if not inputs:
        raise UsageError(
            "no log given", hint="Pass a file or a directory, or - for standard input."
        )
    sources: list[Source] = []
    seen: set[object] = set()
    for named in inputs:
        if isinstance(named, Source):
            sources.append(named)
            continue
        for path in _files(os.fspath(named)):
            try:
                identity = _identity(path)
                _check_access(path)
                if identity not in seen:
                    seen.add(identity)
                    sources.append(Source(path))
            except InputError as error:
                if refused is None:
                    raise
                refused[path] = error
    return sources


def file_and_process(name: str) -> tuple[str, str] | None:
    """The file, and the process of it that a name asks for: `FILE#0`. None: it asks for none."""
    if "#" not in name or name == STANDARD_INPUT or os.path.exists(name):  # noqa: PTH110  as named
        return None
    for mark in re.finditer("#", name):
        if os.path.isfile(name[: mark.start()]):  # noqa: PTH113  as named
            return name[: mark.start()], name[mark.end() :]
    return None


def is_pipe(named: str) -> bool:
    """Whether a name is standard input or a FIFO, which gives its text once."""
    try:
        return named == STANDARD_INPUT or Path(named).is_fifo()
    except OSError:  # it is said where the input is read
        return False


def is_source(path: str, inputs: Sequence[str | os.PathLike[str]]) -> bool:
    """Whether a file, by whatever name, is one of those that `inputs` name."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    files = [os.fspath(named) for named in inputs]
    return any(_is_of(status, (file_and_process(file) or (file,))[0]) for file in files)


def _is_of(status: os.stat_result, named: str) -> bool:
    try:
        if named == STANDARD_INPUT:
            return os.path.samestat(status, os.fstat(sys.stdin.fileno()))
        return any(os.path.samestat(status, os.stat(file)) for file in _files(named))
    except (InputError, OSError, AttributeError):  # what can't be read is said where it is read
        return False


def _files(path: str) -> list[str]:
    """The files that a name stands for: itself, or the regular files below a directory.

    Links to directories are not followed. What can't be read is among them, directories, too.
    """
    if not os.path.isdir(path):  # noqa: PTH112  as named
        return [path]
    entries = files_below(path, natural_key, hidden=False)
    below = [
        entry if isinstance(entry, str) else entry.path
        for entry in entries
        if isinstance(entry, str) or entry.is_file()
    ]
    if not below:
        hint = "Hidden files are skipped; pass them by name to read them."
        raise InputError("the directory has no files", path, hint)
    return below


def natural_key(name: str) -> tuple[list[str | tuple[int, str]], str]:
    """A sort key that takes digits as numbers; the name itself decides between 1 and 01."""
    parts: list[str | tuple[int, str]] = list(_DIGITS.split(name))
    numbers = (digits.lstrip("0") for digits in _DIGITS.findall(name))
    parts[1::2] = [(len(digits), digits) for digits in numbers]
    return parts, name


def _identity(path: str) -> object:
    if path == STANDARD_INPUT:
        return path
    try:
        with readable(path):
            status = os.stat(path)
    except ValueError as error:
        raise InputError("is not a valid file name", repr(path)) from error
    # Some file systems of Windows have no file numbers.
    return (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(path)


def _check_access(path: str) -> None:
    if path != STANDARD_INPUT and not os.access(path, os.R_OK):
        raise unreadable(path, PermissionError(13, os.strerror(13)))
