"""The registry of formats: name, suffixes, writer.

A new format is one entry here and one function that writes a frame to a binary stream. The writers
are named by module so that asking for a format's name does not import polars.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from tflogscope.errors import UsageError

if TYPE_CHECKING:
    import os

    import polars as pl


class Format(NamedTuple):
    """A file format for tables, and where its writer is."""

    name: str
    suffixes: tuple[str, ...]
    binary: bool  # not to be sent to a terminal
    module: str
    function: str

    def write(self, frame: pl.DataFrame, stream: BinaryIO, table: str) -> None:
        """Write a table.

        Args:
            frame: the table.
            stream: takes bytes; need not seek.
            table: the table's name, for formats that have a place for it.

        Raises:
            OSError: the stream can't be written.
        """
        module = import_module(f"tflogscope.exports.{self.module}")
        getattr(module, self.function)(frame, stream, table)


FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        Format("csv", (".csv",), False, "csv_text", "write_csv"),
        Format("json", (".json",), False, "json_text", "write_json"),
        Format("jsonl", (".jsonl", ".ndjson"), False, "json_text", "write_jsonl"),
        Format("parquet", (".parquet",), True, "columnar", "write_parquet"),
        Format("arrow", (".arrow", ".feather", ".ipc"), True, "columnar", "write_arrow"),
    )
}


def format_of_file(path: str | os.PathLike[str]) -> Format:
    """The format that a file's suffix asks for; upper and lower case are the same.

    Raises:
        UsageError: no format has that suffix.
    """
    suffix = Path(path).suffix.lower()
    for form in FORMATS.values():
        if suffix in form.suffixes:
            return form
    suffixes = " ".join(suffix for other in FORMATS.values() for suffix in other.suffixes)
    raise UsageError(
        f"unknown suffix {suffix!r}" if suffix else "the file name has no suffix",
        str(path),
        f"Set --format, or use one of {suffixes}",
    )
