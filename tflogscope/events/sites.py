"""Call sites: what the scan has to know of each distinct `severity thread file:line] `."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.dictionary import Codes, Dictionary
from tflogscope.events.prefix import parse_sites
from tflogscope.grammar.model import Grammar

# What becomes of a record, by the file that printed it.
NO_SITE, IGNORED, COVERED, EXECUTOR, MEMORY = range(5)
# The two files that make up nine tenths of a log have a path of their own through the scan.
_HOT_FILES = {"executor.cc": EXECUTOR, "log_memory.cc": MEMORY}


class Sites:
    """Distinct sites, with the kind of each and where its file name begins. Thread-safe."""

    def __init__(self, grammar: Grammar) -> None:
        self._files = list(grammar.files)
        self._dictionary = Dictionary()
        self._lock = Lock()
        self._frames: list[pl.DataFrame] = []
        self.kind = np.zeros(0, np.int8)
        self.file_offset = np.zeros(0, np.int64)

    def encode(self, hashes: NDArray[np.uint64], texts: Callable[[Codes], pl.Series]) -> Codes:
        """Return the site code of each line; `kind` and `file_offset` know every code returned."""
        codes = self._dictionary.encode(hashes, texts)
        if len(codes) and int(codes.max()) >= len(self.kind):
            self._learn()
        return codes

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

    def table(self) -> pl.DataFrame:
        """One row per site code, in order: the columns of `parse_sites` and `kind`."""
        if not self._frames:
            return parse_sites(pl.Series("site", [], pl.String)).with_columns(
                kind=pl.Series([], dtype=pl.Int8)
            )
        return pl.concat(self._frames).with_columns(kind=pl.Series(self.kind))
