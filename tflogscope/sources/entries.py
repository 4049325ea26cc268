"""Entries of the journal: a line for each of their fields, one of which is the text."""

from __future__ import annotations

from typing import Any

from tflogscope.grammar.envelopes import Envelope
from tflogscope.sources.block import LINE_CAP, Numbers, numbers_at
from tflogscope.sources.objects import text_lines
from tflogscope.sources.pieces import Key, Opened, Pieces

_SIZE = r"^(?:\\x[0-9a-f]{2}|[^\n]){1,3}?(?:\\x00){5,7}"  # of 8 bytes, with NULs escaped


class Entries:
    """The text of each entry. One that has not ended waits for the next block."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._pieces = Pieces()
        self._begun: bytes = b""
        self._numbers: Numbers = 0
        self._whose: Key = (b"",) * len(envelope.streams)

    def open(self, text: bytes, numbers: Numbers) -> list[Opened]:
        """See `Layer`."""
        import numpy as np

        if self._begun:
            here = numbers_at(numbers, np.arange(text.count(b"\n")))
            text, numbers = self._begun + text, np.append(self._numbers, here)
        fields = self._fields(text)
        last = fields["entry"][-1]
        lines = int(fields["entry"].search_sorted(last)) + int(last > 0)
        size = sum(map(len, text.split(b"\n")[lines:])) + fields.height - lines
        if size > 2 * LINE_CAP:
            lines, size = fields.height, 0
        self._begun = text[len(text) - size :]
        self._numbers = numbers_at(numbers, np.arange(lines, fields.height))
        return self._opened(fields.head(lines), numbers, (b"",) * len(self._whose))

    def rest(self) -> list[Opened]:
        """See `Layer`. The last entry may lack what tells its process: it is the last one's."""
        begun, self._begun = self._begun, b""
        last = self._opened(self._fields(begun), self._numbers, self._whose) if begun else []
        return [*last, *self._pieces.rest()]

    def _fields(self, text: bytes) -> Any:
        """Each line, with its number, the name and the value of its field, and its entry."""
        import polars as pl

        line = pl.col("line")
        name = line.str.extract(r"^ *([A-Z_][A-Z0-9_]*)=")
        # What is no text has its name on a line of its own, and its size before it.
        alone = line.str.extract(r"^([A-Z_][A-Z0-9_]*)$")
        binary = alone.shift().is_not_null()
        return pl.DataFrame({"line": text_lines(text)}).select(
            number=pl.int_range(pl.len()),
            name=pl.when(binary).then(alone.shift()).otherwise(name),
            value=pl.when(binary)
            .then(line.str.replace(_SIZE, ""))
            .otherwise(line.str.replace(r"^ *\w+=", "")),
            entry=(name.is_null() & alone.is_null() & ~binary).cum_sum(),
        )

    def _opened(self, fields: Any, numbers: Numbers, whose: Key) -> list[Opened]:
        import polars as pl

        envelope, (part, value) = self._envelope, self._envelope.part
        texts = fields.filter(name=envelope.text)
        if not texts.height:
            return []
        for path in envelope.asked:
            values = fields.filter(name=path).unique("entry", keep="first", maintain_order=True)
            texts = texts.join(
                values.select("entry", pl.col("value").alias(path)),
                on="entry",
                how="left",
                maintain_order="left",
            )
        keys = None
        if envelope.streams:
            streams = (
                texts[name].cast(pl.Binary).fill_null(unsaid)
                for name, unsaid in zip(envelope.streams, whose, strict=True)
            )
            keys = list(zip(*streams, strict=True))
            self._whose = keys[-1]
        cut = (texts[part] == value).fill_null(value=False).to_list() if part else None
        numbers = numbers_at(numbers, texts["number"].to_numpy())
        lines = texts["value"].cast(pl.Binary).to_list()
        return self._pieces.put_together(lines, numbers, keys, None, cut)
