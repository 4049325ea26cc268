"""What the scan of one block gives: a class for each line, and columns of events."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.prefix import DIALECTS

# Classes of a physical line. TEXT lines are recognised or unknown, which their text decides.
(
    CONTINUATION_LINE,
    BLANK_LINE,
    IGNORED_LINE,
    EXECUTOR_LINE,
    MEMORY_LINE,
    TEXT_LINE,
    VERBOSE_LINE,
    SUSPECT_LINE,
) = range(8)
LINE_CLASSES = 8

# Phases of an executor record (core/common_runtime/executor.cc, ExecutorState::Process,
# ExecutorState::ProcessSync and the done callback of ExecutorState::ProcessAsync).
START, SYNC_DONE, ASYNC_DONE = 1, 2, 3


@dataclass(slots=True)
class Columns:
    """Columns of one kind of event, collected block by block."""

    parts: dict[str, list[NDArray[np.generic]]] = field(default_factory=dict)

    def add(self, **columns: NDArray[np.generic]) -> None:
        """Append a block's columns."""
        for name, values in columns.items():
            self.parts.setdefault(name, []).append(values)

    def frame(self, **schema: pl.DataType) -> pl.DataFrame:
        """One frame of all parts, in the order in which they were added."""
        return pl.DataFrame(
            {
                name: pl.Series(
                    np.concatenate(self.parts[name]) if name in self.parts else [], dtype=dtype
                )
                for name, dtype in schema.items()
            }
        )

    def extend(self, other: Columns, first: int) -> None:
        """Append another block's parts; `first` is the number of that block's first line."""
        for name, parts in other.parts.items():
            shift = first if name == "at" else 0
            mine = self.parts.setdefault(name, [])
            mine.extend(part + shift if shift else part for part in parts)


@dataclass(slots=True)
class Chunk:
    """What one block of lines holds; `at` is the number of a line, from 0 for the block's first."""

    classes: NDArray[np.int8]
    executor: Columns = field(default_factory=Columns)
    records: Columns = field(default_factory=Columns)
    tensors: Columns = field(default_factory=Columns)
    head: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String))  # first few lines
    dialects: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(DIALECTS), np.int64))
    verbose: list[pl.DataFrame] = field(default_factory=list)  # at, text
    before_verbose: list[pl.DataFrame] = field(default_factory=list)  # at, text
    failures: list[pl.DataFrame] = field(default_factory=list)  # at, text
    suspects: list[pl.DataFrame] = field(default_factory=list)  # at, text, text_1 to text_4
