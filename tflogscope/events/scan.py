"""All blocks of all sources → events: worker threads scan blocks, the results stay in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.chunk import (
    BLANK_LINE,
    CONTINUATION_LINE,
    SUSPECT_LINE,
    Chunk,
    Columns,
)
from tflogscope.events.lines import FOLLOWING, LineScanner
from tflogscope.events.torn import repair
from tflogscope.sources import Source, SourceAccount, read_ahead

# Blocks in work at once. polars and NumPy let go of the interpreter lock only now and then, so
# three workers keep two cores busy.
WORKERS = 3

Progress = Callable[[int, int | None], None]
"""Called with the bytes read so far and the bytes in all (None: unknown)."""


@dataclass(slots=True)
class SourceSpan:
    """One source in the numbering of all lines: its lines have `at` from `first` on."""

    name: str
    first: int
    lines: int
    account: SourceAccount


@dataclass(slots=True)
class Scan:
    """What all blocks hold together. `at` numbers the lines of all sources, from 0."""

    spans: list[SourceSpan] = field(default_factory=list)
    classes: list[NDArray[np.int8]] = field(default_factory=list)
    dialects: list[NDArray[np.int64]] = field(default_factory=list)
    executor: Columns = field(default_factory=Columns)
    records: Columns = field(default_factory=Columns)
    tensors: Columns = field(default_factory=Columns)
    verbose: list[pl.DataFrame] = field(default_factory=list)
    before_verbose: list[pl.DataFrame] = field(default_factory=list)
    failures: list[pl.DataFrame] = field(default_factory=list)
    suspects: list[pl.DataFrame] = field(default_factory=list)
    torn: pl.DataFrame = field(default_factory=lambda: pl.DataFrame({"at": [], "pieces": []}))
    heads: list[tuple[int, pl.Series]] = field(default_factory=list)

    def add(self, chunk: Chunk, first: int) -> None:
        """Append a block whose first line has the number `first`."""
        self.classes.append(chunk.classes)
        self.dialects.append(chunk.dialects)
        self.executor.extend(chunk.executor, first)
        self.records.extend(chunk.records, first)
        self.tensors.extend(chunk.tensors, first)
        shift = pl.col("at") + first
        for mine, its in (
            (self.verbose, chunk.verbose),
            (self.before_verbose, chunk.before_verbose),
            (self.failures, chunk.failures),
            (self.suspects, chunk.suspects),
        ):
            mine.extend(frame.with_columns(shift) for frame in its)
        earlier = range(len(self.suspects) - len(chunk.suspects))
        for number in reversed(earlier):
            if self.suspects[number]["at"][-1] < first - FOLLOWING:
                break
            self.suspects[number] = _with_following(self.suspects[number], chunk.head, first)


def _with_following(suspects: pl.DataFrame, head: pl.Series, first: int) -> pl.DataFrame:
    """Give suspects at the end of earlier blocks the lines that follow them in this one."""
    for distance in range(1, FOLLOWING + 1):
        name = f"text_{distance}"
        index = suspects["at"] + distance - first
        inside = (index >= 0) & (index < len(head))
        lines = head.gather(index.set(~inside, None))
        suspects = suspects.with_columns(pl.coalesce(pl.col(name), lines).alias(name))
    return suspects


def scan_sources(
    sources: Sequence[Source], scanner: LineScanner, progress: Progress | None = None
) -> Scan:
    """Read all sources once, in order. Raises InputError where one can't be read."""
    scan = Scan()
    first = 0
    total = _total_size(sources)
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="tflogscope-scan") as pool:
        before = 0
        for source in sources:
            start = first
            for chunk, position in _chunks(source, scanner, pool):
                scan.add(chunk, first)
                first += len(chunk.classes)
                if progress is not None:
                    progress(before + position, total)
            before += source.size or 0
            scan.spans.append(SourceSpan(source.name, start, first - start, source.account))
    if scan.suspects:
        _repair(scan, scanner)
    return scan


def _total_size(sources: Sequence[Source]) -> int | None:
    sizes = [source.size for source in sources]
    return None if None in sizes else sum(size or 0 for size in sizes)


def _chunks(
    source: Source, scanner: LineScanner, pool: ThreadPoolExecutor
) -> Iterator[tuple[Chunk, int]]:
    waiting: deque[tuple[Future[Chunk], int]] = deque()
    for block in read_ahead(source.blocks()):
        waiting.append((pool.submit(scanner.scan, block.text), block.position))
        if len(waiting) > WORKERS:
            future, position = waiting.popleft()
            yield future.result(), position
    while waiting:
        future, position = waiting.popleft()
        yield future.result(), position


def _repair(scan: Scan, scanner: LineScanner) -> None:
    """Take the suspects apart and scan the pieces; their events take their place in the order."""
    text, at, scan.torn = repair(pl.concat(scan.suspects))
    if not len(at):
        return
    again = scanner.scan_repaired(text, at)
    scan.executor.extend(again.executor, 0)
    scan.records.extend(again.records, 0)
    scan.tensors.extend(again.tensors, 0)
    scan.verbose.extend(again.verbose)
    scan.failures.extend(again.failures)
    # A physical line counts as its first record; text before it is no record.
    order = np.argsort(at, kind="stable")
    record = again.classes[order]
    is_record = (record != CONTINUATION_LINE) & (record != BLANK_LINE)
    lines, place = np.unique(at[order][is_record], return_index=True)
    classes = np.concatenate(scan.classes)
    classes[classes == SUSPECT_LINE] = CONTINUATION_LINE
    classes[lines] = record[is_record][place]
    scan.classes = [classes]
