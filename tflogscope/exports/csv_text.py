r"""CSV that a spreadsheet reads as data.

Quoted as in RFC 4180, UTF-8, lines end with `\n`. Null is an empty field, an empty string is `""`.
Numbers are left alone. Strings change in two cases, both visible:

- a string that a spreadsheet would run as a formula gets a leading `'`;
- a character with an effect (escape, carriage return, zero width, …) is shown by its code, `\x1b`.
"""

from __future__ import annotations

from typing import BinaryIO

import polars as pl
from polars import selectors as cs

from tflogscope.escapes import (
    HASH_COMMAND,
    LINE_COMMAND,
    UNSAFE_RANGES,
    escape,
    unsafe_class,
)
from tflogscope.exports.schema import DATETIME_FORMAT, SLICE_ROWS

TEXT = cs.string() | cs.categorical() | cs.enum()

# Signs that start a formula, their full-width twins too, also behind blanks and quotes; and a
# leading tab or line end. A lone sign is not a formula, and `-` is how standard input is named.
_FORMULA = r"""^(?:[\s'"]*[=+\-@＝＋－＠](?s:.)|[\t\n])"""
_KEPT = "\t\n"  # a quoted field can hold them
_UNSAFE = f"[{unsafe_class(last=0xD7FF)}{unsafe_class(first=0xE000)}&&[^{_KEPT}]]"
_SHOWN = {
    chr(code): escape(code)
    for first, last in UNSAFE_RANGES
    for code in range(first, last + 1)
    if not 0xD800 <= code <= 0xDFFF and chr(code) not in _KEPT
}


def write_csv(frame: pl.DataFrame, stream: BinaryIO, _table: str) -> None:
    """Write a header and one line per row; the table's name has no place in CSV.

    Raises:
        OSError: the stream can't be written.
    """
    stream.write(_flat(frame.clear()).write_csv().encode())
    for part in frame.iter_slices(SLICE_ROWS):
        text = spreadsheet_safe(_flat(part)).write_csv(
            include_header=False, datetime_format=DATETIME_FORMAT
        )
        stream.write(text.encode())


def spreadsheet_safe(frame: pl.DataFrame) -> pl.DataFrame:
    """Change the strings that a spreadsheet, a terminal or a CI runner would obey."""
    return frame.with_columns(_safe_column(column) for column in frame.select(TEXT))


def _safe_column(column: pl.Series) -> pl.Series:
    column = column.cast(pl.String)
    if column.str.contains(_UNSAFE).any():  # rare: the replacement is slower than the question
        column = column.str.replace_many(_SHOWN)
    column = column.str.replace_all(LINE_COMMAND, r"${1}\x3a${2}")
    column = column.str.replace_all(HASH_COMMAND, r"\x23${1}")
    return column.str.replace(_FORMULA, "'${0}")


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """What CSV can hold: lists `;`-joined, infinite and undefined numbers null."""
    return frame.with_columns(
        cs.list().cast(pl.List(pl.String)).list.join(";"),
        pl.when(cs.float().is_finite()).then(cs.float()),
    )
