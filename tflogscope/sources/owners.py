"""Lines of several processes that only the threads which wrote them tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tflogscope.grammar.model import Grammar
from tflogscope.sources.block import Numbers, numbers_at
from tflogscope.sources.pieces import Key, Opened, by_process

NOBODY = ""
_COMMENT = b"# "
# As grammars/lines.toml has them: the first number of each but `op` is the process.
_OF_RECORD = r"^tflogscope (?:op \d+|[a-z_]+) (\d+)"


@dataclass(frozen=True)
class ThreadOwners:
    """Which process each thread is of, and each process id that lines of `record` name."""

    grammar: Grammar
    threads: Mapping[int, str]
    processes: Mapping[int, str]


class ByOwner:
    """The lines of each process. A line without a thread goes with the one before it.

    What is written above a log, as `record` does it, is of all of them.
    """

    def __init__(self, owners: ThreadOwners) -> None:
        self._owners, self._last, self._begun = owners, NOBODY, False
        patterns = [prefix.pattern for prefix in owners.grammar.prefixes.values()]
        self._prefixes = [pattern for pattern in patterns if "?P<thread>" in pattern]

    def open(self, text: bytes, numbers: Numbers) -> list[Opened]:
        """See `Layer`."""
        import numpy as np
        import polars as pl

        line = pl.col("line")
        thread = pl.coalesce(
            line.str.extract_groups(prefix).struct.field("thread") for prefix in self._prefixes
        )
        owner = pl.coalesce(
            pl.when(number.is_not_null()).then(
                number.cast(pl.Int64, strict=False).replace_strict(
                    dict(owners), default=NOBODY, return_dtype=pl.String
                )
            )
            for number, owners in (
                (line.str.extract(_OF_RECORD, 1), self._owners.processes),
                (thread, self._owners.threads),
            )
        )
        lines = pl.Series("line", [text[:-1].decode()]).str.split("\n").explode().to_frame()
        whose = lines.select(owner.forward_fill().fill_null(self._last)).to_series()
        self._last = whose[-1]
        keys: list[Key] = [(name,) for name in whose.cast(pl.Binary).to_list()]
        texts = text.split(b"\n")[:-1]
        if not self._begun and texts[0].startswith(_COMMENT):
            heads: list[Key] = [(name.encode(),) for name in {*self._owners.threads.values()}]
            numbers = numbers_at(
                numbers, np.append(np.zeros(len(heads), int), range(1, len(texts)))
            )
            keys, texts = [*heads, *keys[1:]], [*[texts[0]] * len(heads), *texts[1:]]
        self._begun = True
        return by_process(texts, numbers, keys)

    def rest(self) -> list[Opened]:
        """See `Layer`."""
        return []
