r"""JSON: one object per table, or one row object per line.

Datetimes are ISO strings with microseconds, durations and ids are numbers, null is null, and there
is no NaN. Characters that a terminal or a CI runner would obey are written as JSON escapes
(`\u009b`), so a reader gets the exact text back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import polars as pl
from polars import selectors as cs

from tflogscope.escapes import unsafe_class
from tflogscope.exports.schema import DATETIME_FORMAT, SCHEMA_VERSION, SLICE_ROWS

# JSON itself escapes what is below U+0020; `#` is inside strings only, so both patterns are
# safe to replace in the finished text.
_OBEYED = re.compile(f"{unsafe_class(first=0x7F)}|#(?=#\\w*\\[)")


def write_json(frame: pl.DataFrame, stream: BinaryIO, table: str) -> None:
    """Write `{"schema_version": …, "table": …, "rows": [row objects]}`.

    Raises:
        OSError: the stream can't be written.
    """
    head = f'{{"schema_version":{SCHEMA_VERSION},"table":{json.dumps(table)},"rows":['
    stream.write(head.encode())
    before = "\n"
    for lines in _line_blocks(frame):
        stream.write((before + lines.replace("\n", ",\n")).encode())
        before = ",\n"
    stream.write(b"\n]}\n")


def write_jsonl(frame: pl.DataFrame, stream: BinaryIO, _table: str) -> None:
    """Write one row object per line (JSON Lines); the table's name has no place in them.

    Raises:
        OSError: the stream can't be written.
    """
    stream.writelines(f"{lines}\n".encode() for lines in _line_blocks(frame))


def json_object(facts: Any, default: Callable[[Any], Any] | None = None) -> str:
    """Facts as one JSON object for people and programs; `default` as in `json.dumps`."""
    return harmless(json.dumps(facts, indent=2, allow_nan=False, default=default)) + "\n"


def harmless(text: str) -> str:
    """Escape in a JSON text what a terminal or a CI runner would obey; its meaning stays."""
    if text.isascii() and "##" not in text and "\x7f" not in text:  # the rule, and quickly seen
        return text
    return _OBEYED.sub(_json_escape, text)


def _line_blocks(frame: pl.DataFrame) -> Iterator[str]:
    """Row objects, one per line, without the last line end."""
    for part in frame.iter_slices(SLICE_ROWS):
        shown = part.with_columns(cs.datetime().dt.strftime(DATETIME_FORMAT))
        yield harmless(shown.write_ndjson().removesuffix("\n"))


def _json_escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "#" else "\\u0023"
