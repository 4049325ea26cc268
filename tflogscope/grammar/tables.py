"""The columns of every table, from `grammars/tables.toml`: names, order, types, what they mean."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import polars as pl

from tflogscope.grammar.load import packaged_toml

_FILE = "tables.toml"
_TYPES: dict[str, pl.DataType] = {
    "str": pl.String(),
    "bool": pl.Boolean(),
    "u8": pl.UInt8(),
    "u32": pl.UInt32(),
    "u64": pl.UInt64(),
    "i64": pl.Int64(),
    "f64": pl.Float64(),
    "datetime[us]": pl.Datetime("us"),
}


class ColumnMeaning(NamedTuple):
    """One column. `null`: when it has no value; `source`: where the fact is read from."""

    name: str
    type: str
    meaning: str
    null: str
    source: str = ""


@cache
def tables() -> dict[str, tuple[ColumnMeaning, ...]]:
    """The columns of each table, in their order. Raises GrammarError if the file is damaged."""
    return {
        table: tuple(ColumnMeaning(name, **facts) for name, facts in columns.items())
        for table, columns in packaged_toml(_FILE).items()
    }


@cache
def schema(table: str) -> dict[str, pl.DataType]:
    """The columns of a table with their types."""
    return {column.name: _TYPES[column.type] for column in tables()[table]}


def as_table(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with the columns of a table, in their order and of their types."""
    return pl.DataFrame([frame[name].cast(kind) for name, kind in schema(table).items()])
