"""Parquet and Arrow IPC: the frames as they are, for programs that read columns."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import BinaryIO

import polars as pl

from tflogscope.exports.schema import SCHEMA_VERSION


def write_parquet(frame: pl.DataFrame, stream: BinaryIO, table: str) -> None:
    """Write Parquet; `schema_version` and `table` are in the file's metadata.

    Raises:
        OSError: the stream can't be written.
    """
    metadata = {"schema_version": str(SCHEMA_VERSION), "table": table}
    _through_memory(stream, lambda buffer: frame.write_parquet(buffer, metadata=metadata))


def write_arrow(frame: pl.DataFrame, stream: BinaryIO, _table: str) -> None:
    """Write Arrow IPC (Feather 2) that readers without string views can read too.

    polars has no way to put a schema version into this format.

    Raises:
        OSError: the stream can't be written.
    """
    oldest = pl.CompatLevel.oldest()
    _through_memory(stream, lambda buffer: frame.write_ipc(buffer, compat_level=oldest))


def _through_memory(stream: BinaryIO, write: Callable[[io.BytesIO], object]) -> None:
    """Write by way of memory: polars reports a full disk as a fault of the format."""
    buffer = io.BytesIO()
    write(buffer)
    stream.write(buffer.getbuffer())
