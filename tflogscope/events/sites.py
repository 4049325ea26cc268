"""Call sites: what the scan has to know of each distinct `severity thread file:line] `."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.block import Block, kept
from tflogscope.events.dictionary import Codes, Dictionary
from tflogscope.events.digits import Positions, Words
from tflogscope.events.prefix import parse_sites
from tflogscope.grammar.model import Grammar

# What becomes of a record, by the file that printed it.
NO_SITE, IGNORED, COVERED, EXECUTOR, MEMORY = range(5)
# The two files that make up nine tenths of a log have a path of their own through the scan.
_HOT_FILES = {"executor.cc": EXECUTOR, "log_memory.cc": MEMORY}

_END = "] "
_WORDS = 4
_PIECE = 8 * _WORDS
_FREQUENT = 1 / 16  # of a block's records: less is not worth looking for in the others


class Sites:
    """Distinct sites, with the kind of each and where its file name begins. Thread-safe.

    Few sites write nearly all records. They are told by how they end (`/executor.cc:841] `), which
    is looked for where it should be; the `] ` itself is searched for in other lines only.
    """

    def __init__(self, grammar: Grammar) -> None:
        self._files = list(grammar.files)
        self._dictionary = Dictionary()
        self._endings: tuple[_Ending, ...] = ()
        self._lock = Lock()
        self._frames: list[pl.DataFrame] = []
        self.kind = np.zeros(0, np.int8)
        self.file_offset = np.zeros(0, np.int64)

    def find(self, block: Block, starts: Positions, ends: Positions) -> tuple[Codes, Positions]:
        """Return the code of the site at each of `starts`, and where the message after it begins.

        `kind` and `file_offset` know every code returned.
        """
        codes = np.full(len(starts), -1, np.int64)
        lengths = np.zeros(len(starts), np.int64)
        left = np.arange(len(starts))
        heads = _hash(block.words(starts, _WORDS)) if self._endings else np.zeros(0, np.uint64)
        for ending in self._endings:
            found = ending.find(block, starts[left], ends[left], heads[left])
            codes[left], lengths[left] = found, ending.length
            left = left[found < 0]
        if len(left):
            codes[left], lengths[left] = self._search(block, starts[left], ends[left])
        self._learn_endings(block, starts, lengths, codes)
        return codes, starts + lengths

    def _search(self, block: Block, starts: Positions, ends: Positions) -> tuple[Codes, Positions]:
        """Return codes, and lengths with the `] `; where there is none, the site is empty."""
        places = block.strings(starts, ends).str.find(_END, literal=True).fill_null(0)
        lengths = places.to_numpy().astype(np.int64)
        sites = block.strings(starts, starts + lengths)
        codes = self._dictionary.encode(
            sites.hash().to_numpy(), lambda rows: kept(sites.gather(rows))
        )
        if int(codes.max()) >= len(self.kind):
            self._learn()
        return codes, lengths + len(_END)

    def _learn(self) -> None:
        with self._lock:
            new = self._dictionary.texts(len(self.kind))
            frame = parse_sites(new)
            hot = pl.col("file").replace_strict(_HOT_FILES, default=COVERED, return_dtype=pl.Int8)
            columns = frame.select(
                kind=pl.when(pl.col("file").is_null())
                .then(pl.lit(NO_SITE, pl.Int8))
                .when(pl.col("file").is_in(self._files))
                .then(hot)
                .otherwise(pl.lit(IGNORED, pl.Int8)),
                offset=new.str.len_bytes().cast(pl.Int64)
                - pl.col("file").str.len_bytes()
                - 1
                - pl.col("file_line").cast(pl.String).str.len_bytes(),
            )
            self._frames.append(frame)
            kind: NDArray[np.int8] = columns["kind"].to_numpy()
            offset = columns["offset"].fill_null(0).to_numpy()
            self.file_offset = np.concatenate([self.file_offset, offset])
            self.kind = np.concatenate([self.kind, kind])  # last: it says what is known

    def _learn_endings(
        self, block: Block, starts: Positions, lengths: Positions, codes: Codes
    ) -> None:
        """Look for the sites that wrote much of this block in the next one, the first one first."""
        counts = np.bincount(codes)
        frequent = np.flatnonzero(counts > _FREQUENT * len(codes))
        frequent = frequent[np.argsort(-counts[frequent], kind="stable")]
        endings: dict[tuple[int, tuple[int, ...]], _Ending] = {}
        for code in frequent.tolist():
            row = np.array([np.argmax(codes == code)])
            start, length = starts[row], int(lengths[row[0]])
            if _PIECE <= length <= 2 * _PIECE and self.kind[code] != NO_SITE:
                head = _hash(block.words(start, _WORDS))
                words = tuple(block.words(start + length - _PIECE, _WORDS)[:, 0].tolist())
                ending = endings.get((length, words), _Ending(length, words))
                endings[length, words] = ending.with_head(head, code)
        self._endings = tuple(endings.values())

    def table(self) -> pl.DataFrame:
        """One row per site code, in order: the columns of `parse_sites` and `kind`."""
        if not self._frames:
            return parse_sites(pl.Series("site", [], pl.String)).with_columns(
                kind=pl.Series([], dtype=pl.Int8)
            )
        return pl.concat(self._frames).with_columns(kind=pl.Series(self.kind))


@dataclass(frozen=True, slots=True)
class _Ending:
    """Sites of one length, `] ` included, that end in the same 32 bytes; they begin with 32 more.

    Only the thread differs, so an ending has few heads: `heads` holds their hashes, ascending.
    """

    length: int
    words: tuple[int, ...]
    heads: Words = field(default_factory=lambda: np.zeros(0, np.uint64))
    codes: Codes = field(default_factory=lambda: np.zeros(0, np.int64))

    def find(self, block: Block, starts: Positions, ends: Positions, heads: Words) -> Codes:
        """Return the code of the site at each of `starts`, -1 where it is none of these."""
        last = block.words(starts + (self.length - _PIECE), _WORDS)
        same = starts + self.length <= ends
        for word, mine in zip(last, self.words, strict=True):
            same &= word == np.uint64(mine)
        place = np.searchsorted(self.heads, heads) if len(self.heads) > 1 else 0
        place = np.minimum(place, len(self.heads) - 1)
        return np.where(same & (self.heads[place] == heads), self.codes[place], -1)

    def with_head(self, head: Words, code: int) -> _Ending:
        """Return the same with one more site."""
        place = np.searchsorted(self.heads, head)
        heads, codes = np.insert(self.heads, place, head), np.insert(self.codes, place, code)
        return _Ending(self.length, self.words, heads, codes)


def _hash(words: Words) -> Words:
    mixed = np.zeros(words.shape[1], np.uint64)
    for word in words:
        mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return mixed
