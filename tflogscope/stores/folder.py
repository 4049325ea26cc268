"""Where a store is: a directory of this machine, or a URL of any file system that fsspec knows."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from tflogscope.errors import InputError, OutputError, UsageError, writable
from tflogscope.exports.atomic import atomic_file
from tflogscope.folders import files_below
from tflogscope.sources.readers import readable, unreadable

RUNS = "runs"
"""The folder, and the table, with a row a run."""
# Whole tables of runs, and what a collector that was killed could not remove.
_BEGUN = re.compile(r"\w+/run=[^/]+/[0-9a-f]{16}\.parquet|(?:[^/]+/)*\.tflogscope-\w+\.tmp")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_INSTALL = "pip install 'tflogscope[remote]'"


def is_url(name: str) -> bool:
    """Whether this is a URL, and not a path."""
    return _URL.match(name) is not None


def folder_of(name: str) -> Folder:
    """The folder of a path or URL.

    Raises:
        UsageError: it is a URL and fsspec, or what fsspec needs for it, is not installed.
    """
    return RemoteFolder(name) if is_url(name) else LocalFolder(name)


def file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it.

    Raises:
        UsageError: fsspec, or what it needs for this URL, is not installed.
    """
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        raise UsageError("URLs need fsspec", url, _INSTALL) from None
    try:
        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise UsageError(str(error), url, "fsspec says what is missing.") from error
    return system, path


def is_store(name: str) -> bool:
    """Whether this is a store: what has a folder `runs` with rows in it.

    Raises InputError if only the rows are missing, or it may not be read.
    """
    local = None if is_url(name) else LocalFolder(name)
    if any(file.endswith(".parquet") for file in (local or folder_of(name)).files(RUNS)):
        return True
    if local and local.has_folders("timeline"):
        what = "this store lists no run: collect was stopped, or its table of runs is lost"
        raise InputError(what, name, "Run tflogscope collect again, into the same store.")
    return False


def is_begun(directory: str) -> bool:
    """Whether a directory holds no more than what a collector writes before its first row."""
    entries = files_below(directory, str, hidden=True)
    paths = (Path(entry if isinstance(entry, str) else entry.path) for entry in entries)
    return all(_BEGUN.fullmatch(path.relative_to(directory).as_posix()) for path in paths)


def store_and_run(name: str) -> tuple[str, str | None] | None:
    """The store, and the run of it if one is named: `STORE`, `STORE#ID`. None: this is no store."""
    if is_store(name):
        return name, None
    for mark in re.finditer("#", name):
        if is_store(name[: mark.start()]):
            return name[: mark.start()], name[mark.end() :]
    return None


def ends_with(file: str | Path, end: bytes) -> bool:
    """Whether a file ends with these bytes. Raises OSError."""
    with open(file, "rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - len(end)))
        return stream.read() == end


class LocalFolder:
    """A directory: files by their names, with `/` between parts. Each is written whole or not."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._path = Path(name)

    def read(self, file: str) -> bytes:
        """What a file holds."""
        with readable(f"{self.name}/{file}"):
            if not (self._path / file).is_file():
                raise InputError("not a file", f"{self.name}/{file}")
            return (self._path / file).read_bytes()

    def write(self, file: str, data: bytes) -> None:
        """Make or replace a file, and the folders it is in."""
        target = self._path / file
        with writable(target.parent):
            target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target, force=True) as stream:
            stream.write(data)

    def remove(self, file: str) -> None:
        """Remove a file; nothing happens if it is not there."""
        with writable(self._path / file):
            (self._path / file).unlink(missing_ok=True)

    def files(self, folder: str) -> list[str]:
        """Names of the files right in a folder, sorted; empty if there is no such folder.

        Raises InputError if it may not be read.
        """
        try:
            with os.scandir(self._path / folder) as entries:
                names = [entry.name for entry in entries if entry.is_file()]  # a pipe is waited for
        except PermissionError as error:
            raise unreadable(self.name, error) from error
        except (OSError, ValueError):  # no file has such a name
            return []
        return sorted(name for name in names if not name.startswith("."))

    def holds(self, file: str, end: bytes) -> bool:
        """Whether a file is there that ends with these bytes."""
        try:
            return (self._path / file).is_file() and ends_with(self._path / file, end)
        except OSError:
            return False

    def has_folders(self, folder: str) -> bool:
        """Whether there are folders of runs in a folder."""
        try:
            return any(entry.name.startswith("run=") for entry in (self._path / folder).iterdir())
        except (OSError, ValueError):  # what the name is, the reader of logs will say
            return False


class RemoteFolder:
    """A URL. Object stores put a file whole or not at all."""

    def __init__(self, name: str) -> None:
        self.name = name.rstrip("/")
        self._system, self._root = file_system(self.name)

    def read(self, file: str) -> bytes:
        """See `LocalFolder`."""
        try:
            content: bytes = self._system.cat_file(f"{self._root}/{file}")
        except OSError as error:
            raise InputError(str(error), f"{self.name}/{file}") from error
        return content

    def write(self, file: str, data: bytes) -> None:
        """See `LocalFolder`."""
        target = f"{self._root}/{file}"
        try:
            self._system.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._system.pipe_file(target, data)
        except OSError as error:
            raise OutputError(f"can't write: {error}", f"{self.name}/{file}") from error

    def remove(self, file: str) -> None:
        """See `LocalFolder`."""
        target = f"{self._root}/{file}"
        if self._system.exists(target):
            self._system.rm_file(target)

    def files(self, folder: str) -> list[str]:
        """See `LocalFolder`."""
        self._system.invalidate_cache()
        try:
            paths = self._system.ls(f"{self._root}/{folder}", detail=False)
        except FileNotFoundError:
            return []
        return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)

    def holds(self, file: str, end: bytes) -> bool:
        """See `LocalFolder`. One request: an object store has a file whole or not at all."""
        return bool(self._system.exists(f"{self._root}/{file}")) and bool(end)


Folder = LocalFolder | RemoteFolder
