"""Records by the message that they are: distinct texts are matched once, and their fields read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.grammar.fast import extract, match_messages, schema_of
from tflogscope.grammar.model import Grammar


class Messages:
    """The records of a log that are kept with their text.

    Args:
        grammar: the messages that are known.
        texts: the distinct texts, without prefix.
        files: of each text, the place of its file in `names`.
        names: the files of the grammar.
        records: at, time, thread, text (the place of its text), in the order of the log.
    """

    def __init__(
        self,
        grammar: Grammar,
        texts: pl.Series,
        files: NDArray[np.integer],
        names: Sequence[str],
        records: pl.DataFrame,
    ) -> None:
        self._grammar = grammar
        self._distinct, self._files, self._names = texts, files, names
        self._records = records
        self._read: dict[str, pl.DataFrame] = {}

    @cached_property
    def ids(self) -> list[str]:
        """Ids of all messages of which there is a record."""
        return [*self._texts_by_id]

    @cached_property
    def unknown(self) -> pl.Series:
        """`at` of the records that are of a file that is known, and no message of it."""
        return self._identified.filter(pl.col("id").is_null())["at"]

    def of(self, *ids: str) -> pl.DataFrame:
        """Records of one message (or of several with the same fields), in the order of the log.

        Columns: at, time, thread, id, and the fields of the message.
        """
        if len(ids) > 1:
            found = pl.concat(map(self.of, ids), how="diagonal")
            return found.sort("at", maintain_order=True)
        (id_,) = ids
        if id_ not in self._read:
            self._read[id_] = self._message(id_)
        return self._read[id_]

    def _message(self, id_: str) -> pl.DataFrame:
        texts = self._texts_by_id.get(id_)
        if texts is None:
            # A log has none of most messages.
            fields_of = schema_of(self._grammar.message(id_))
            return pl.DataFrame(schema=self._schema | fields_of | self._schema)
        records = self._records_by_id[id_]
        fields = extract(texts["message"], self._grammar.message(id_))
        rows = pl.Series(np.searchsorted(texts["code"].to_numpy(), records["text"].to_numpy()))
        added = [each.gather(rows) for each in fields if each.name not in self._schema]
        return pl.DataFrame([records[name] for name in self._schema] + added)

    @cached_property
    def _texts(self) -> pl.DataFrame:
        """Distinct texts by code: `message`, `id` of the grammar entry (null: unknown)."""
        texts = self._distinct
        ids = pl.Series("id", [None], pl.String).new_from_index(0, len(texts))
        for file in np.unique(self._files).tolist():
            rows = np.flatnonzero(self._files == file)
            matched = match_messages(texts.gather(rows), self._grammar.files[self._names[file]])
            ids = ids.scatter(rows, matched)
        return pl.DataFrame({"message": texts, "id": ids}).with_row_index("code")

    @cached_property
    def _identified(self) -> pl.DataFrame:
        ids = self._texts["id"]
        return self._records.with_columns(id=ids.gather(self._records["text"]))

    @cached_property
    def _schema(self) -> dict[str, pl.DataType]:
        """What all records have: at, time, thread, id."""
        return dict(self._identified.drop("text").schema)

    @cached_property
    def _texts_by_id(self) -> dict[str, pl.DataFrame]:
        """Distinct texts of each message: code, message."""
        return _parts(self._texts.drop_nulls("id"))

    @cached_property
    def _records_by_id(self) -> dict[str, pl.DataFrame]:
        """Records of each message, in the order of the log."""
        return _parts(self._identified.drop_nulls("id"))


def _parts(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of each `id`, in their order."""
    parts = frame.partition_by("id", maintain_order=True, as_dict=True)
    return {str(id_): part for (id_,), part in parts.items()}
