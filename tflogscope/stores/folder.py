"""Where a store is: a directory of this machine, or a URL of any file system that fsspec knows."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Protocol

from tflogscope.errors import InputError, OutputError, UsageError
from tflogscope.exports.atomic import atomic_file

RUNS = "runs"
"""The folder, and the table, with a row a run."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_INSTALL = "pip install 'tflogscope[remote]'"


class Folder(Protocol):
    """Files by their names, which have `/` between their parts. Each is written whole or not."""

    name: str

    def read(self, file: str) -> bytes:
        """What a file holds."""

    def write(self, file: str, data: bytes) -> None:
        """Make or replace a file, and the folders it is in."""

    def remove(self, file: str) -> None:
        """Remove a file; nothing happens if it is not there."""

    def files(self, folder: str) -> list[str]:
        """Names of the files right in a folder, sorted; empty if there is no such folder."""


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
    """Whether this is a store: what has a folder `runs` with rows in it."""
    if not is_url(name) and not os.path.isdir(f"{name}/{RUNS}"):  # noqa: PTH112  as it is named
        if next(Path(name).glob("timeline/run=*"), None):
            hint = "tflogscope collect writes it: collect the runs into a new store."
            raise InputError("this store has lost its table of runs", name, hint)
        return False
    return any(each.endswith(".parquet") for each in folder_of(name).files(RUNS))


def store_and_run(name: str) -> tuple[str, str | None] | None:
    """The store, and the run of it if one is named: `STORE`, `STORE#ID`. None: this is no store."""
    if is_store(name):
        return name, None
    for mark in re.finditer("#", name):
        if is_store(name[: mark.start()]):
            return name[: mark.start()], name[mark.end() :]
    return None


class LocalFolder:
    """A directory."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._path = Path(name)

    def read(self, file: str) -> bytes:
        """See `Folder`."""
        try:
            return (self._path / file).read_bytes()
        except OSError as error:
            raise InputError(error.strerror or str(error), f"{self.name}/{file}") from error

    def write(self, file: str, data: bytes) -> None:
        """See `Folder`."""
        target = self._path / file
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"can't write: {error.strerror}", str(target.parent)) from error
        with atomic_file(target, force=True) as stream:
            stream.write(data)

    def remove(self, file: str) -> None:
        """See `Folder`."""
        (self._path / file).unlink(missing_ok=True)

    def files(self, folder: str) -> list[str]:
        """See `Folder`."""
        try:
            found = [each.name for each in (self._path / folder).iterdir()]
        except OSError:
            return []
        return sorted(name for name in found if not name.startswith("."))


class RemoteFolder:
    """A URL. Object stores put a file whole or not at all."""

    def __init__(self, name: str) -> None:
        self.name = name.rstrip("/")
        self._system, self._root = file_system(self.name)

    def read(self, file: str) -> bytes:
        """See `Folder`."""
        try:
            found: bytes = self._system.cat_file(f"{self._root}/{file}")
        except OSError as error:
            raise InputError(str(error), f"{self.name}/{file}") from error
        return found

    def write(self, file: str, data: bytes) -> None:
        """See `Folder`."""
        target = f"{self._root}/{file}"
        try:
            self._system.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._system.pipe_file(target, data)
        except OSError as error:
            raise OutputError(f"can't write: {error}", f"{self.name}/{file}") from error

    def remove(self, file: str) -> None:
        """See `Folder`."""
        target = f"{self._root}/{file}"
        if self._system.exists(target):
            self._system.rm_file(target)

    def files(self, folder: str) -> list[str]:
        """See `Folder`."""
        self._system.invalidate_cache()
        try:
            found = self._system.ls(f"{self._root}/{folder}", detail=False)
        except FileNotFoundError:
            return []
        return sorted(each.rstrip("/").rpartition("/")[2] for each in found)
