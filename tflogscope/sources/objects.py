"""Lines that are JSON objects, with the text in one of their strings."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tflogscope.grammar.envelopes import Envelope, in_object
from tflogscope.sources.block import LINE_CAP, Numbers, SourceAccount
from tflogscope.sources.pieces import Opened, Pieces
from tflogscope.sources.shapes import ANY_STRING, LineShapes, any_digits
from tflogscope.sources.text import clean

if TYPE_CHECKING:
    import polars as pl

_JSON = re.compile(rb'("(?:[^"\\]|\\.)*")(\s*:)?|([][{}])|([^]["{}]+)')


class Objects:
    """The texts in them; polars reads what the library doesn't."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._shapes, self._pieces = LineShapes(), Pieces()
        self.rest = self._pieces.rest

    def open(self, text: bytes, numbers: Numbers) -> list[Opened]:
        """See `Layer`."""
        while not self._pieces.begun:
            same, place = self._shapes.open(text, numbers)
            if same:
                account = SourceAccount()
                return [batch._replace(text=clean(batch.text, LINE_CAP, account)) for batch in same]
            if not self._learn(text[place : text.find(b"\n", place)]):
                break
        return self._open_each(text, numbers)

    def _learn(self, line: bytes) -> bool:
        """Know the shape of a line; False: it is known, or the line is none of this kind."""
        envelope, (name, value) = self._envelope, self._envelope.part
        entry = envelope.read(line.decode())
        if entry is None or (name and in_object(json.loads(line), name) == value):
            return False
        head, tail = _shape_of(line, envelope)
        return self._shapes.add(tuple(map(str.encode, entry[1])), head, tail)

    def _open_each(self, text: bytes, numbers: Numbers) -> list[Opened]:
        import polars as pl

        envelope, (part, value) = self._envelope, self._envelope.part
        frame = _read(text, (envelope.text, *envelope.asked))
        lines, cut = frame[envelope.text], None
        if envelope.line_feed:
            cut = ~lines.str.ends_with("\n").fill_null(value=True)
            lines = lines.str.strip_suffix("\n")
        elif part:
            cut = (frame[part] == value).fill_null(value=False)
        odd = (lines.is_null() | lines.str.starts_with("[")).arg_true()
        if lines.null_count():  # what is no object of this kind stays as it is
            lines = lines.fill_null(text_lines(text))
        streams = [frame[name].fill_null("").cast(pl.Binary) for name in envelope.streams]
        keys = list(zip(*streams, strict=True)) if streams else None
        texts = lines.cast(pl.Binary).to_list()
        unknown = self._no_strings(text, odd, texts) if len(odd) else []
        opened = self._pieces.put_together(
            texts,
            numbers,
            keys,
            frame[envelope.channel].cast(pl.Binary).to_list() if envelope.channel else None,
            None if cut is None else cut.to_list(),
        )
        whose = Counter(keys[row] if keys else () for row in unknown)
        return [batch._replace(unowned=whose[batch.key]) for batch in opened] if unknown else opened

    def _no_strings(self, text: bytes, odd: pl.Series, texts: list[bytes]) -> list[int]:
        """Put texts in place that are arrays of bytes; return the rows that have null instead.

        `odd` are the rows that may have one or the other.

        The journal writes both: what has control characters, and what is longer than 4096 bytes
        (systemd src/shared/logs-show.c, json_escape).
        """
        name = re.escape(self._envelope.text.rpartition(".")[2])
        lines, unknown = text_lines(text)[odd], list[int]()
        is_other = lines.str.contains(rf'"{name}"\s*:\s*(?:\[\s*\d|null\b)')
        for row, line in zip(odd.filter(is_other), lines.filter(is_other), strict=True):
            value = _value(line, self._envelope.text)
            if value is None:
                texts[row] = b""
                unknown.append(row)
            elif isinstance(value, list):
                texts[row] = bytes(byte & 0xFF for byte in value if isinstance(byte, int))
        return unknown


def _value(line: str, path: str) -> Any:
    """What is at a path of an object; the line itself where it is none."""
    try:
        whole = json.loads(line)
        for name in path.split("."):
            whole = whole[name]
    except (ValueError, RecursionError, KeyError, TypeError):
        return line
    return whole


def _shape_of(line: bytes, envelope: Envelope) -> tuple[bytes, bytes]:
    """What is before and behind the text, with marks for digits and texts that may be others."""
    made: list[bytes] = []
    path, before = list[str](), 0
    for string, colon, bracket, rest in _JSON.findall(line):
        if string and colon:
            path[-1] = json.loads(string)
            made += string, colon
        elif string and (".".join(path) or "$") == envelope.text:
            before = len(made) + 1
            made += b'"', b'\\n"' if envelope.line_feed else b'"'
        elif string:
            made.append(string if ".".join(path) in envelope.asked else b'"%s"' % ANY_STRING)
        else:
            made.append(bracket or any_digits(rest))
            path = [*path, ""] if bracket in (b"{", b"[") else path[:-1] if bracket else path
    return b"".join(made[:before]), b"".join(made[before:])


def _read(text: bytes, paths: Sequence[str]) -> Any:
    """Texts at these paths of each line, null where there are none."""
    import polars as pl

    lines = text_lines(text).to_frame("line")
    columns = {
        path: pl.col("line").str.json_path_match(
            "$" if path == "$" else "$" + "".join(f"['{name}']" for name in path.split("."))
        )
        for path in paths
    }
    return lines.select(**columns)


def text_lines(text: bytes) -> Any:
    """Lines as a series of texts."""
    import polars as pl

    return pl.Series([text[:-1].decode()]).str.split("\n").explode()
