"""Verbose lines as the scanner gives them: each a row of fields, each field a number of a text.

Lines repeat most of their fields, so whatever costs more than a look-up is done once for each
distinct text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.grammar.fast import at_once
from tflogscope.native.library import FIELDS

Integers = NDArray[np.integer]
Booleans = NDArray[np.bool_]
NO_TEXT = -1


@dataclass(eq=False, repr=False)
class VerboseLines:
    """Line by line: `at`, and `count` fields from `first` on in `codes`, which number `texts`.

    The last of FIELDS fields may hold commas.
    """

    at: NDArray[np.int64]
    first: Integers
    count: Integers
    codes: Integers
    texts: pl.Series

    def __len__(self) -> int:
        return len(self.at)

    def field(self, place: Integers | int, numbers: Integers | slice = slice(None)) -> Integers:
        """The text's number of the field in this place of each row; NO_TEXT: it has not so many."""
        at, there = self.first[numbers] + place, place < self.count[numbers]
        codes: Integers = self.codes[at if there.all() else np.where(there, at, 0)]
        return codes if there.all() else np.where(there, codes, NO_TEXT)

    def of(self, row: Integers) -> VerboseLines:
        """Some of the lines."""
        if len(row) == len(self):
            return self
        return replace(self, at=self.at[row], first=self.first[row], count=self.count[row])

    def joined(self, numbers: Integers, begin: Integers, end: Integers) -> list[str]:
        """The text of some fields of each row, with the commas between them."""
        count = np.maximum(end - begin, 0)
        after = np.cumsum(count)
        within = np.arange(count.sum()) - np.repeat(after - count, count)
        codes = self.codes[np.repeat(self.first[numbers] + begin, count) + within]
        texts = self.texts[codes].to_list()
        places = zip((after - count).tolist(), after.tolist(), strict=True)
        return [",".join(texts[one:two]) for one, two in places]

    def frame(self, numbers: Integers | None = None) -> pl.DataFrame:
        """Lines as they were: at, text."""
        numbers = np.arange(len(self)) if numbers is None else numbers
        texts = self.joined(numbers, np.zeros(len(numbers), np.int64), self.count[numbers])
        return pl.DataFrame(
            {"at": self.at[numbers], "text": texts}, schema={"at": pl.Int64, "text": pl.String}
        )

    def replaced(self, numbers: Sequence[int], lines: Sequence[str]) -> VerboseLines:
        """These lines, with others in the place of some rows."""
        new = lines_of(pl.DataFrame({"at": self.at[list(numbers)], "text": lines}))
        first, count = self.first.copy(), self.count.copy()
        first[list(numbers)], count[list(numbers)] = new.first + len(self.codes), new.count
        codes = np.concatenate([self.codes, new.codes + len(self.texts)])
        texts = pl.concat([self.texts, new.texts])
        return replace(self, first=first, count=count, codes=codes, texts=texts)


def matching(texts: pl.Series, tests: Sequence[tuple[Integers, str]]) -> list[Booleans]:
    """Whether the text of each number holds a pattern; that of NO_TEXT does not.

    `tests` are numbers of texts, and the pattern for them.
    """
    some = [distinct(codes, len(texts)) for codes, _ in tests]
    good = at_once(
        pl.lit(texts[wanted]).str.contains(pattern).arg_true()
        for wanted, (_, pattern) in zip(some, tests, strict=True)
    )
    results = []
    for wanted, which, (codes, _) in zip(some, good, tests, strict=True):
        is_good = np.zeros(len(texts) + 1, bool)
        is_good[wanted[which.to_numpy()]] = True
        results.append(is_good[codes])
    return results


def distinct(codes: NDArray[Any], size: int) -> Integers:
    """The distinct numbers, ascending, of numbers below `size`; negative ones are left out."""
    seen = np.zeros(size, bool)
    seen[codes[codes >= 0]] = True
    return np.flatnonzero(seen)


def lines_of(frame: pl.DataFrame) -> VerboseLines:
    """Lines that are texts (`at`, `text`), cut as the scanner cuts them."""
    code_of: dict[str, int] = {}
    codes, count = [], []
    for line in frame["text"].to_list():
        fields = line.split(",", FIELDS - 1)
        count.append(len(fields))
        codes += [code_of.setdefault(field, len(code_of)) for field in fields]
    many = np.array(count, np.int64)
    return VerboseLines(
        at=frame["at"].to_numpy().astype(np.int64),
        first=np.cumsum(many) - many,
        count=many,
        codes=np.array(codes, np.int64),
        texts=pl.Series("text", list(code_of), pl.String),
    )
