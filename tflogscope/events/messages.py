"""Records by the message that they are: distinct texts are matched once, and their fields read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.verbose_lines import distinct
from tflogscope.grammar.fast import extract, first_matches, schema_of
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
        self._distinct = texts
        tags, file = np.unique(files, return_inverse=True)
        messages = [grammar.files[names[tag]].messages for tag in tags.tolist()]
        ids = [message.id for some in messages for message in some]
        text = records["text"].to_numpy()
        number = first_matches(texts, file, messages)[text]
        order = np.argsort(number, kind="stable").astype(np.uint32)
        self._text, numbers = text[order], pl.Series(order)
        borders = np.searchsorted(number[order], np.arange(len(ids) + 1)).tolist()
        self._places = {id_: slice(*both) for id_, both in zip(ids, pairwise(borders), strict=True)}
        columns = [records[name][numbers] for name in ("at", "time", "thread")]
        columns.append(pl.Series("id", [*ids, None], pl.String)[number[order]])
        self._records = pl.DataFrame(columns)  # one message after the other; first the unknown
        self._read: dict[tuple[str, ...], pl.DataFrame] = {}

    @cached_property
    def ids(self) -> list[str]:
        """Ids of all messages of which there is a record."""
        return [id_ for id_, place in self._places.items() if place.start < place.stop]

    @property
    def unknown(self) -> NDArray[np.int64]:
        """`at` of the records that are of a file that is known, and no message of it."""
        count = sum(place.stop - place.start for place in self._places.values())
        return self._records["at"].head(len(self._text) - count).to_numpy()

    def of(self, *ids: str) -> pl.DataFrame:
        """Records of one message (or of several with the same fields), in the order of the log.

        Columns: at, time, thread, id, and the fields of the message.
        """
        if ids not in self._read:
            self._read[ids] = self._several(ids) if len(ids) > 1 else self._one(*ids)
        return self._read[ids]

    def _several(self, ids: tuple[str, ...]) -> pl.DataFrame:
        frames = [self.of(id_) for id_ in ids]
        there = [frame for frame in frames if frame.height] or frames[:1]
        names = {name for frame in frames for name in frame.columns}
        if len(there) == 1 and names == {*there[0].columns}:
            return there[0]
        records = pl.concat(frames, how="diagonal")
        return records[np.argsort(records["at"].to_numpy(), kind="stable")]

    def _one(self, id_: str) -> pl.DataFrame:
        place = self._places.get(id_, slice(0, 0))
        shared = self._records[place]
        message = self._grammar.message(id_)
        if shared.is_empty():
            return pl.DataFrame(schema=shared.schema | schema_of(message) | shared.schema)
        texts = distinct(self._text[place], len(self._distinct))
        fields = extract(self._distinct[texts], message)
        numbers = pl.Series(np.searchsorted(texts, self._text[place]).astype(np.uint32))
        added = [field[numbers] for field in fields if field.name not in shared.columns]
        return pl.DataFrame([*shared, *added])
